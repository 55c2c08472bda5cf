//! The recorder's own part of the report as JSON: how much is recorded, what it cost, what the platform stored.

use serde::Serialize;
use trace_format::sections::profile::PlatformProfile;

use super::MAX_LISTED;
use crate::facts::{MethodOff, OffReason};
use crate::report::{RecorderReport, ThreadCoverage};

/// The cost of recording, and what is missing because of it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Recorder<'a> {
    /// The share of main's time, an estimate from the number of events and the cost of one at the start.
    main_cost_percent: Option<f64>,
    /// The share of one CPU's time, an estimate as above.
    all_cost_percent: Option<f64>,
    /// The cost of recording as the recorder measured it; null if it did not.
    measured: Option<Measured>,
    /// Time for which the coarse clock stood still in total: calls look short there, or are missing.
    standstill_ns: u64,
    /// Methods that were switched off, by time; at most 1,024.
    switched_off: Vec<SwitchedOff<'a>>,
    /// Missing events of threads that got no block.
    dropped: u64,
    /// Times that were adjusted so that none runs back.
    clamped: u64,
    /// The number of times that recording paused.
    pauses: usize,
    /// Methods that were switched off and not on again.
    methods_off: usize,
}

/// The cost of recording, measured while it ran.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Measured {
    /// The mean share of the threads' time.
    percent: f64,
    /// The highest share.
    most_percent: f64,
    /// The time at which it was highest.
    most_at_ns: u64,
    /// The cost of one event then.
    ns_per_event: f64,
    /// The number of events of all threads then.
    events_per_second: u64,
}

/// A method that was switched off.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct SwitchedOff<'a> {
    /// The method.
    name: &'a str,
    /// The time at which it was switched off.
    since_ns: u64,
    /// The time at which it was switched on again, if it was.
    until_ns: Option<u64>,
    /// The reason: the app requested it, it had too many events, or recording exceeded its limit.
    #[cfg_attr(test, schemars(extend("enum" = ["asked", "budget", "cost"])))]
    why: &'static str,
    /// The events (budget) or calls (cost) of the method per second, if known.
    per_second: Option<u64>,
}

impl<'a> From<&'a RecorderReport> for Recorder<'a> {
    fn from(recorder: &'a RecorderReport) -> Self {
        Self {
            main_cost_percent: recorder.main_cost_percent,
            all_cost_percent: recorder.all_cost_percent,
            measured: recorder.measured.map(|(percent, worst)| Measured {
                percent,
                most_percent: worst.percent,
                most_at_ns: worst.at,
                ns_per_event: worst.ns,
                events_per_second: worst.events,
            }),
            standstill_ns: recorder.standstills.total(),
            switched_off: recorder.off.iter().take(MAX_LISTED).map(SwitchedOff::from).collect(),
            dropped: recorder.dropped,
            clamped: recorder.clamped,
            pauses: recorder.pauses.len(),
            methods_off: recorder.methods_off(),
        }
    }
}

impl<'a> From<&'a (String, MethodOff)> for SwitchedOff<'a> {
    fn from((name, off): &'a (String, MethodOff)) -> Self {
        let (why, per_second) = match off.why {
            OffReason::Asked => ("asked", None),
            OffReason::Budget(events) => ("budget", events),
            OffReason::Cost(calls) => ("cost", Some(calls)),
        };
        Self { name, since_ns: off.since, until_ns: off.until, why, per_second }
    }
}

/// The recorded part of a thread's time.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Coverage<'a> {
    /// The thread's name.
    thread: &'a str,
    /// The thread's kernel id.
    tid: u32,
    /// True for the recorded main thread.
    main: bool,
    /// The thread's first event, overwritten or not.
    since_ns: u64,
    /// The thread's end, or the recording's.
    until_ns: u64,
    /// The first moment with recorded events.
    from_ns: u64,
    /// Time from the thread's first event to its end.
    lived_ns: u64,
    /// The recorded part of that time, without pauses and gaps.
    recorded_ns: u64,
}

impl<'a> From<&'a ThreadCoverage> for Coverage<'a> {
    fn from(thread: &'a ThreadCoverage) -> Self {
        let coverage = &thread.coverage;
        Self {
            thread: &thread.name,
            tid: thread.tid,
            main: thread.main,
            since_ns: coverage.since,
            until_ns: coverage.until,
            from_ns: coverage.from,
            lived_ns: coverage.lived(),
            recorded_ns: coverage.recorded,
        }
    }
}

/// A file that the platform stored on the device.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Profile<'a> {
    /// The path on the device.
    path: &'a str,
    /// The size of the file.
    bytes: u64,
    /// The trigger: the rest of `ProfilingTrigger.TRIGGER_TYPE_...`, in lower case.
    trigger: &'a str,
    /// The tag of the request, or the system's word for an anomaly.
    tag: Option<&'a str>,
}

/// A profile that the platform was asked for and did not store.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct MissingProfile<'a> {
    /// The trigger, as in `profiles`.
    trigger: &'a str,
    /// `requested` if the platform did not answer, else the reason why there is no file: rate_limit_system,
    /// rate_limit_process, in_progress, failed, post_processing, no_disk_space, invalid_request, unknown.
    outcome: &'static str,
    /// The tag, as in `profiles`.
    tag: Option<&'a str>,
    /// The time of the request, CLOCK_BOOTTIME; null if that is not known.
    asked_ns: Option<u64>,
}

fn tag(profile: &PlatformProfile) -> Option<&str> {
    Some(profile.tag.as_str()).filter(|tag| !tag.is_empty())
}

impl<'a> From<&'a PlatformProfile> for Profile<'a> {
    fn from(profile: &'a PlatformProfile) -> Self {
        Self { path: &profile.path, bytes: profile.bytes, trigger: &profile.trigger, tag: tag(profile) }
    }
}

impl<'a> From<&'a PlatformProfile> for MissingProfile<'a> {
    fn from(profile: &'a PlatformProfile) -> Self {
        Self {
            trigger: &profile.trigger,
            outcome: profile.outcome.word(),
            tag: tag(profile),
            asked_ns: profile.asked_ns,
        }
    }
}

/// A notice of the recorder.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct Notice<'a> {
    /// The time of the notice.
    pub(super) at_ns: u64,
    /// One line in plain words, as the log has it.
    pub(super) text: &'a str,
}
