//! The report as JSON. The types here, and the types of the findings that are `Serialize`, are its schema:
//! `docs/report-schema.json` is made from them and from their comments, and `docs/reports.md` says what may change.

mod device;
mod hang;
mod native;
mod recorded;
#[cfg(test)]
mod schema;
mod timeline;

use answers::answer::{AnswerJson, RecentWork};
use serde::Serialize;
use serde_json::Value;
use trace_format::layout::State;
use trace_format::sections::profile::Outcome;

use self::device::Device;
use self::hang::Hang;
use self::native::NativeStack;
use self::recorded::{Coverage, MissingProfile, Notice, Profile, Recorder};
use self::timeline::{Anr, Capture, Start};
use super::findings;
use super::idle::Idle;
use super::platform;
use super::{Counts, LongWait, MissedBeat, Posters, PreferenceWrites, Slow};
use crate::facts::Unit;
use crate::model::StartSplit;

/// The version of the schema. The major version changes when a key changes its meaning or is removed.
pub const SCHEMA_VERSION: &str = "1.0";

/// Maximum number of ANRs and captures.
const MAX_LISTED: usize = 1024;

/// One document for all recordings.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Document<'a> {
    /// Version of this schema, major.minor.
    schema: &'static str,
    /// One report for each recording, in the order of the command line.
    reports: Vec<Report<'a>>,
}

/// A recording.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Report<'a> {
    /// Version of this schema, major.minor.
    schema: &'static str,
    /// The recording's path, as given.
    file: &'a str,
    /// The name of the recorded process.
    process: &'a str,
    /// The process id.
    pid: u32,
    /// The app's version (`android:versionName`).
    app_version: Option<&'a str>,
    /// The number of the app's version (`android:versionCode`).
    app_version_code: Option<u32>,
    /// The moment at which recording began.
    start: StartClocks,
    /// The first moment with recorded data.
    first_ns: u64,
    /// The last moment at which the process was known to be alive.
    end_ns: u64,
    /// The end of the recording; open: killed, crashed, or still running.
    #[cfg_attr(test, schemars(extend("enum" = ["open", "ended", "disarmed", "unknown"])))]
    state: &'static str,
    /// True if the main thread hung.
    hung: bool,
    /// The answer: verdict, cause and advice, in the same form as in `anrscope dump --json`.
    answer: AnswerJson<'a>,
    /// Of an attachment's recording without a hang: the answer of the thread dump with which it began, with low confidence.
    at_start: Option<AnswerJson<'a>>,
    /// Of a program without a hang: the stretch of a thread without progress that was taken for idle, and would be the hang
    /// if the end of its wait was due.
    idle: Option<&'a Idle>,
    /// The answer about the idle thread if the end of its wait was due, with low confidence.
    if_due: Option<AnswerJson<'a>>,
    /// The worst hang of the main thread.
    hang: Option<Hang<'a>>,
    /// Of a message storm, the place that posted most of the messages, if steps of concurrent work were recorded.
    posters: Option<&'a Posters>,
    /// The writes of SharedPreferences that main may wait for in `QueuedWork.waitToFinish`, if steps of concurrent work were
    /// recorded.
    preference_writes: Option<&'a PreferenceWrites>,
    /// Main's unit at the system's last request for a dump, or at the end without one; null if main was polling.
    open: Option<&'a Unit>,
    /// ANRs and suspected ANRs, by time; at most 1,024.
    anrs: Vec<Anr<'a>>,
    /// SIGQUITs that were not ANRs of this process, by time; at most 1,024.
    captures: Vec<Capture>,
    /// The work in the 10 s before the hang, or before the end.
    before: &'a RecentWork,
    /// The slowest messages and frames of these 10 s.
    slowest: &'a [Slow],
    /// The longest completed waits of main, longest first.
    waits: &'a [LongWait],
    /// The work of the app's other threads and of the rest of the device during the hang.
    device: Option<Device<'a>>,
    /// Native stacks, by time; at most 64.
    native_stacks: Vec<NativeStack<'a>>,
    /// Watched threads that missed their heartbeats, the longest first.
    missed_heartbeats: &'a [MissedBeat],
    /// Starts and pages, by time.
    starts: Vec<Start<'a>>,
    /// The parts of the process's start on main, if its methods are known.
    start_split: Option<&'a StartSplit>,
    /// Files that the platform stored on the device: profiles of its ANRs, and of other triggers (API 36).
    profiles: Vec<Profile<'a>>,
    /// Profiles that the platform was asked for and did not store.
    profiles_missing: Vec<MissingProfile<'a>>,
    /// The number of recorded things.
    counts: &'a Counts,
    /// The cost of recording, and what is missing because of it.
    recorder: Recorder<'a>,
    /// The recorded part of each thread's time, main first; at most 1,024.
    coverage: Vec<Coverage<'a>>,
    /// The notices of the recorder.
    notices: Vec<Notice<'a>>,
    /// Missing or uncertain parts, in words.
    warnings: Vec<String>,
}

/// The clocks at the start of the recording.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StartClocks {
    /// The time by CLOCK_BOOTTIME.
    boottime_ns: u64,
    /// The time since 1970.
    realtime_ns: u64,
}

impl<'a> Report<'a> {
    fn new(report: &'a findings::Report, file: &'a str) -> Self {
        let state = match report.state {
            Some(State::Open) => "open",
            Some(State::Ended) => "ended",
            Some(State::Disarmed) => "disarmed",
            None => "unknown",
        };
        let stored = report.profiles.iter().filter(|profile| profile.outcome == Outcome::Stored);
        Self {
            schema: SCHEMA_VERSION,
            file,
            process: &report.process,
            pid: report.pid,
            app_version: report.system.app_version.as_deref(),
            app_version_code: report.system.app_version_code,
            start: StartClocks { boottime_ns: report.start.boottime, realtime_ns: report.start.realtime },
            first_ns: report.first,
            end_ns: report.end,
            state,
            hung: report.hung(),
            answer: AnswerJson::new(&report.answer, report.headline()),
            idle: report.idle.as_ref(),
            if_due: report.if_due.as_ref().map(|answer| AnswerJson::new(answer, answer.headline())),
            at_start: report.at_start.as_ref().map(|answer| AnswerJson::new(answer, answer.headline())),
            hang: report.hang.as_ref().map(Hang::from),
            posters: report.posters.as_ref(),
            preference_writes: report.preference_writes.as_ref(),
            open: report.open.as_ref(),
            anrs: report.anrs.iter().take(MAX_LISTED).map(Anr::from).collect(),
            captures: report.captures.iter().take(MAX_LISTED).map(Capture::from).collect(),
            before: &report.before,
            slowest: &report.slowest,
            waits: &report.waits,
            device: report.device.as_ref().map(Device::from),
            native_stacks: report.native.stacks.iter().map(NativeStack::from).collect(),
            missed_heartbeats: &report.native.missed,
            starts: report.starts.iter().map(Start::from).collect(),
            start_split: report.start_split.as_ref(),
            profiles: stored.map(Profile::from).collect(),
            profiles_missing: platform::missing(&report.profiles)
                .into_iter()
                .map(MissingProfile::from)
                .collect(),
            counts: &report.counts,
            recorder: Recorder::from(&report.recorder),
            coverage: report.coverage.iter().take(MAX_LISTED).map(Coverage::from).collect(),
            notices: report.notices.iter().map(|(at, text)| Notice { at_ns: *at, text }).collect(),
            warnings: report.warnings.iter().map(ToString::to_string).collect(),
        }
    }
}

impl findings::Report {
    /// The report as JSON; `file` is the recording's name in it.
    #[must_use]
    pub fn to_json(&self, file: &str) -> Value {
        to_value(&Report::new(self, file))
    }

    /// One document for several reports, each with the name of its recording.
    #[must_use]
    pub fn document<'a>(reports: impl IntoIterator<Item = (&'a Self, &'a str)>) -> Value {
        let reports = reports.into_iter().map(|(report, file)| Report::new(report, file)).collect();
        to_value(&Document { schema: SCHEMA_VERSION, reports })
    }
}

/// Converts a value whose keys are texts and whose numbers have a JSON form, so that no conversion fails.
fn to_value(value: &impl Serialize) -> Value {
    serde_json::to_value(value).unwrap_or_default()
}
