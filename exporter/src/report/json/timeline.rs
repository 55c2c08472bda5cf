//! The events of a recording as JSON: ANRs, other signals, starts, slow work and waits.

use serde::Serialize;
use trace_format::verdict::Verdict;

use crate::facts::{self, Detector, MessageKind, RecentWork, Startup};
use crate::model;

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
        Self {
            since_ns: anr.since,
            detected_ns: anr.detected,
            blocked_ns: anr.blocked(),
            recovered_ns: anr.recovered,
            detector: if matches!(anr.detector, Detector::Watchdog) { "watchdog" } else { "sigquit" },
            suspected: anr.suspected(),
            more_signals: anr.more_signals,
            verdict: anr.verdict.as_ref().map(SignalVerdict::from),
        }
    }
}

impl<'a> From<&'a Verdict> for SignalVerdict<'a> {
    fn from(verdict: &'a Verdict) -> Self {
        let reasons = verdict.reasons.iter();
        Self {
            outcome: verdict.outcome.word(),
            confidence: verdict.confidence.word(),
            reasons: reasons.map(|reason| VerdictReason { code: &reason.code, text: &reason.text }).collect(),
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

/// The work in the 10 s before the hang, or before the end.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Before<'a> {
    /// The start of these 10 s.
    from_ns: u64,
    /// The end of these 10 s.
    to_ns: u64,
    /// The number of messages.
    messages: u64,
    /// Input events, idle handlers and other calls outside messages.
    not_queued: u64,
    /// The total time of messages and calls.
    busy_ns: u64,
    /// The kinds with the longest total first, at most eight.
    kinds: Vec<WorkKind<'a>>,
}

/// A kind of message or call.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct WorkKind<'a> {
    /// The handler and the callback.
    name: &'a str,
    /// The number of messages of this kind.
    count: u64,
    /// The total time of these messages.
    total_ns: u64,
    /// The time of the longest one.
    longest_ns: u64,
}

impl<'a> From<&'a RecentWork> for Before<'a> {
    fn from(before: &'a RecentWork) -> Self {
        let kind = |kind: &'a MessageKind| WorkKind {
            name: &kind.name,
            count: kind.count,
            total_ns: kind.total,
            longest_ns: kind.longest,
        };
        Self {
            from_ns: before.from,
            to_ns: before.to,
            messages: before.messages,
            not_queued: before.not_queued,
            busy_ns: before.busy,
            kinds: before.kinds.iter().map(kind).collect(),
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

/// The parts of a process's start on main.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct StartSplit<'a> {
    /// The time at which the start began.
    begin_ns: u64,
    /// The time at which it ended.
    end_ns: u64,
    /// Content providers and initializers of androidx.startup, the longest in front; at most ten.
    components: Vec<StartPart<'a>>,
    /// Libraries by their packages, the longest time of their own in front; at most ten.
    libraries: Vec<StartPart<'a>>,
}

/// A part of a start.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StartPart<'a> {
    /// One of provider, initializer, library. A minor version may add words.
    kind: &'static str,
    /// The class; of a library the package that its classes have in common.
    name: &'a str,
    /// The time in which main was in it.
    inclusive_ns: u64,
    /// The same without other parts that it calls.
    exclusive_ns: u64,
    /// The number of calls from outside of it.
    calls: u64,
}

impl<'a> From<&'a model::StartSplit> for StartSplit<'a> {
    fn from(split: &'a model::StartSplit) -> Self {
        let parts = |parts: &'a [model::StartPart]| parts.iter().map(StartPart::from).collect();
        Self {
            begin_ns: split.begin,
            end_ns: split.end,
            components: parts(&split.components),
            libraries: parts(&split.libraries),
        }
    }
}

impl<'a> From<&'a model::StartPart> for StartPart<'a> {
    fn from(part: &'a model::StartPart) -> Self {
        Self {
            kind: part.kind.word(),
            name: &part.name,
            inclusive_ns: part.inclusive,
            exclusive_ns: part.exclusive,
            calls: part.calls,
        }
    }
}
