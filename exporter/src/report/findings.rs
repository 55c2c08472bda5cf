//! What a recording tells, as every form of the report has it.

use trace_format::event::Clocks;
use trace_format::layout::State;
use trace_format::sections::profile::AnrProfile;
use trace_format::verdict::Counters;

use super::hang::Hang;
use super::long_waits::LongWait;
use super::recorder::RecorderReport;
use super::walk::{Counts, Slow};
use crate::Warning;
use crate::answer::{Answer, Cause};
use crate::facts::Before;
use crate::facts::Unit;
use crate::facts::{Anr, Capture, Coverage, Startup, SystemInfo};

/// How much of a thread's time is recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ThreadCoverage {
    /// Its name.
    pub name: String,
    /// Its tid.
    pub tid: u32,
    /// Whether it is the recorded main thread.
    pub main: bool,
    /// How much.
    pub coverage: Coverage,
}

/// What a recording tells. Times are BOOTTIME ns, durations ns.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The recording, as it was named.
    pub file: String,
    /// The process's name.
    pub process: String,
    /// Its pid.
    pub pid: u32,
    /// The system that it ran on, as far as the recorder wrote it.
    pub system: SystemInfo,
    /// Whether the app was in the foreground at the hang, or else at its last ANR, if that is known.
    pub foreground: Option<bool>,
    /// When recording began.
    pub start: Clocks,
    /// The first moment of which anything is left.
    pub first: u64,
    /// The last moment at which the process is known to have lived.
    pub end: u64,
    /// How the recording ended.
    pub state: Option<State>,
    /// The worst hang of the main thread, if there was one.
    pub hang: Option<Hang>,
    /// What main was in when the system asked last, or at the end if it never did.
    pub open: Option<Unit>,
    /// All ANRs, by time.
    pub anrs: Vec<Anr>,
    /// SIGQUITs that were no ANR of this process.
    pub captures: Vec<Capture>,
    /// What the SIGQUIT sensor had done, where the recording says so.
    pub signals: Option<Counters>,
    /// What hung and why, in the form that dumps, fleets and traces have it in, too.
    pub answer: Answer,
    /// Its cause, if main hung or the system asked.
    pub cause: Option<Cause>,
    /// What ran in the 10 s before the hang, or before the end.
    pub before: Before,
    /// Starts and pages, by time.
    pub starts: Vec<Startup>,
    /// Profiles of its ANRs that the platform left on the device.
    pub profiles: Vec<AnrProfile>,
    /// The slowest messages and frames that ended in the 10 s before the hang, or before the end.
    pub slowest: Vec<Slow>,
    /// The longest waits of main that ended, longest first; at most eight.
    pub waits: Vec<LongWait>,
    /// How much of each thread's time is recorded, main first; threads of which nothing but the name is known are left out.
    pub coverage: Vec<ThreadCoverage>,
    /// How many events of which kind there are.
    pub counts: Counts,
    /// What recording cost, and what was changed while it ran.
    pub recorder: RecorderReport,
    /// What the recorder said of itself, with the time.
    pub notices: Vec<(u64, String)>,
    /// What is missing or doubtful.
    pub warnings: Vec<Warning>,
}

impl Report {
    /// Main's time, if some of it is not recorded.
    #[must_use]
    pub fn partial_main(&self) -> Option<&Coverage> {
        let main = self.coverage.iter().find(|thread| thread.main)?;
        main.coverage.is_partial().then_some(&main.coverage)
    }

    /// Whether the main thread hung.
    #[must_use]
    pub fn hung(&self) -> bool {
        self.hang.is_some()
    }
}
