//! The events of a recording as JSON: ANRs, other signals and starts.

use serde::Serialize;
use trace_format::verdict::Reason;

use crate::facts::{self, Detector, Startup};

/// An ANR or a suspected ANR.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Anr<'a> {
    /// The time at which main's message began.
    since_ns: u64,
    /// The time at which it was detected.
    detected_ns: u64,
    /// Time for which main was blocked then.
    blocked_ns: u64,
    /// The time at which main continued.
    recovered_ns: Option<u64>,
    /// The detector: the system's signal, or the recorder's own timer.
    #[cfg_attr(test, schemars(extend("enum" = ["sigquit", "watchdog"])))]
    detector: &'static str,
    /// True if nothing confirms it.
    suspected: bool,
    /// SIGQUITs after the first.
    more_signals: u32,
    /// The process's own verdict.
    verdict: Option<SignalVerdict<'a>>,
}

/// The process's own verdict on a SIGQUIT.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SignalVerdict<'a> {
    /// The outcome, such as anr or suspected-anr.
    outcome: &'static str,
    /// The certainty of the outcome, as a word.
    #[cfg_attr(test, schemars(extend("enum" = ["low", "medium", "high"])))]
    confidence: &'static str,
    /// What was observed for and against the outcome.
    reasons: Vec<VerdictReason<'a>>,
}

/// A reason of a verdict.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct VerdictReason<'a> {
    /// The reason for programs.
    code: &'a str,
    /// The reason for people.
    text: &'a str,
}

impl<'a> From<&'a facts::Anr> for Anr<'a> {
    fn from(anr: &'a facts::Anr) -> Self {
        let reason = |reason: &'a Reason| VerdictReason { code: &reason.code, text: &reason.text };
        Self {
            since_ns: anr.since,
            detected_ns: anr.detected,
            blocked_ns: anr.blocked(),
            recovered_ns: anr.recovered,
            detector: if matches!(anr.detector, Detector::Watchdog) { "watchdog" } else { "sigquit" },
            suspected: anr.suspected(),
            more_signals: anr.more_signals,
            verdict: anr.verdict.as_ref().map(|verdict| SignalVerdict {
                outcome: verdict.outcome.word(),
                confidence: verdict.confidence.word(),
                reasons: verdict.reasons.iter().map(reason).collect(),
            }),
        }
    }
}

/// A SIGQUIT that was not an ANR of this process.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Capture {
    /// The time of the signal.
    at_ns: u64,
    /// The sender's pid.
    by_pid: u32,
    /// The sender's uid.
    by_uid: u32,
    /// The process's own verdict.
    outcome: Option<&'static str>,
}

impl From<&facts::Capture> for Capture {
    fn from(capture: &facts::Capture) -> Self {
        Self {
            at_ns: capture.at,
            by_pid: capture.sigquit.si_pid,
            by_uid: capture.sigquit.si_uid,
            outcome: capture.verdict.as_ref().map(|verdict| verdict.outcome.word()),
        }
    }
}

/// A start of the app, or a page of it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Start<'a> {
    /// One of cold, warm, hot, page, service, receiver, relaunch.
    kind: &'static str,
    /// The activity's class.
    activity: Option<&'a str>,
    /// The time at which it began.
    begin_ns: u64,
    /// The time from its begin to its end.
    duration_ns: u64,
    /// The time at which `Application.onCreate` ended.
    application_end_ns: Option<u64>,
    /// The time at which the page got the focus.
    end_ns: u64,
    /// The time at which the page was first drawn.
    first_draw_ns: Option<u64>,
    /// The time at which the splash page disappeared.
    splash_end_ns: Option<u64>,
    /// The grade by the app's thresholds.
    grade: &'static str,
}

impl<'a> From<&'a Startup> for Start<'a> {
    fn from(start: &'a Startup) -> Self {
        Self {
            kind: start.kind.word(),
            activity: Some(start.activity.as_str()).filter(|activity| !activity.is_empty()),
            begin_ns: start.begin,
            duration_ns: start.duration(),
            application_end_ns: start.application_end,
            end_ns: start.end,
            first_draw_ns: start.first_draw,
            splash_end_ns: start.splash_end,
            grade: start.grade.word(),
        }
    }
}
