//! The findings of a recording, for every form of the report.

use answers::answer::{Answer, Cause, RecentWork, SystemShare};
use trace_format::event::Clocks;
use trace_format::layout::State;
use trace_format::sections::process::Process;
use trace_format::sections::profile::PlatformProfile;
use trace_format::verdict::Counters;

use super::idle::Idle;
use super::{Counts, Hang, LongWait, NativeReport, Posters, PreferenceWrites, RecorderReport, Slow};
use crate::facts::{Anr, Capture, Coverage, Startup, Unit};
use crate::model::StartSplit;
use crate::{Warning, utc};

/// The recorded part of a thread's time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadCoverage {
    /// Its name.
    pub name: String,
    /// Its tid.
    pub tid: u32,
    /// Whether it is the recorded main thread.
    pub main: bool,
    /// The recorded part.
    pub coverage: Coverage,
}

/// The findings of a recording. Times are BOOTTIME ns, durations ns.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The recording's file name.
    pub file: String,
    /// The process's name.
    pub process: String,
    /// Its pid.
    pub pid: u32,
    /// The system that it ran on, as far as it was recorded.
    pub system: Process,
    /// Whether the app was in the foreground at the hang, or else at its last ANR, if known.
    pub foreground: Option<bool>,
    /// The clocks at the start of the recording.
    pub start: Clocks,
    /// The first moment with events.
    pub first: u64,
    /// The last moment at which the process is known to have been alive.
    pub end: u64,
    /// How the recording ended.
    pub state: Option<State>,
    /// The worst hang of the main thread, if there was one.
    pub hang: Option<Hang>,
    /// What main was in at the system's last request, or at the end if the system requested nothing.
    pub open: Option<Unit>,
    /// All ANRs, by time.
    pub anrs: Vec<Anr>,
    /// SIGQUITs that were not ANRs of this process.
    pub captures: Vec<Capture>,
    /// The SIGQUIT sensor's counters, if recorded.
    pub signals: Option<Counters>,
    /// What hung and why, in the form shared with dumps, fleets and traces.
    pub answer: Answer,
    /// Of an attachment's recording without a hang: the answer of the thread dump with which it began, without confidence.
    pub at_start: Option<Answer>,
    /// Of a program without a hang: the stretch of a thread that was taken for idle and would be the hang if its end was due.
    pub idle: Option<Idle>,
    /// The answer about that one, without confidence.
    pub if_due: Option<Answer>,
    /// Its cause, if main hung or the system requested a dump.
    pub cause: Option<Cause>,
    /// Of a message storm, who posted most of the messages, if steps of concurrent work were recorded.
    pub posters: Option<Posters>,
    /// The writes of `SharedPreferences` that main waits for, if steps of concurrent work were recorded.
    pub preference_writes: Option<PreferenceWrites>,
    /// The work in the 10 s before the hang, or before the end.
    pub before: RecentWork,
    /// Native stacks, and the threads that missed their heartbeats.
    pub native: NativeReport,
    /// What the app's other threads and the rest of the device did during the hang.
    pub(crate) device: Option<SystemShare>,
    /// How the process's start divides by provider, initializer and library, if main's methods in it are known.
    pub start_split: Option<StartSplit>,
    /// Starts and pages, by time.
    pub starts: Vec<Startup>,
    /// What the platform stored at its triggers, or did not.
    pub profiles: Vec<PlatformProfile>,
    /// The slowest messages and frames that ended in the 10 s before the hang, or before the end.
    pub slowest: Vec<Slow>,
    /// The longest waits of main that ended, longest first; at most eight.
    pub waits: Vec<LongWait>,
    /// The longest call of a main thread that runs no messages, if it took 5 s or more.
    pub long_call: Option<Slow>,
    /// The recorded part of each thread's time, main first; threads of which only the name is known are
    /// omitted.
    pub coverage: Vec<ThreadCoverage>,
    /// Numbers of events.
    pub counts: Counts,
    /// The cost of recording, and what was changed while it ran.
    pub recorder: RecorderReport,
    /// The recorder's notices with their times.
    pub notices: Vec<(u64, String)>,
    /// Missing or doubtful data.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// Main's coverage, if some of its time is not recorded.
    #[must_use]
    pub fn partial_main(&self) -> Option<&Coverage> {
        let main = self.coverage.iter().find(|thread| thread.main)?;
        main.coverage.is_partial().then_some(&main.coverage)
    }

    /// A moment, in seconds since the start of the recording.
    pub(super) fn moment(&self, at: u64) -> String {
        let start = self.start.boottime;
        let sign = if at >= start { '+' } else { '-' };
        format!("{sign}{:.3} s", at.abs_diff(start) as f64 / 1e9)
    }

    /// A moment as date and time of day by the device's clock at the start of the recording; `None` if that was not
    /// read.
    pub(super) fn time_of_day(&self, at: u64) -> Option<String> {
        let start = self.start;
        let seconds = start.realtime.saturating_add(at).saturating_sub(start.boottime) / 1_000_000_000;
        (start.realtime > 0).then(|| format!("{} {} UTC", utc::date(seconds), utc::time_of_day(seconds)))
    }

    /// Whether the main thread hung.
    #[must_use]
    pub fn hung(&self) -> bool {
        self.hang.is_some()
    }
}
