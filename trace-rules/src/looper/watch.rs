//! Decides at each poll of the watching thread whether the open message is a LAG or an ANR.
//!
//! The watched thread posts nothing and cancels nothing. It stores when its message began, 0 between messages
//! (`native_signal::StallTimer` has that word and explains why no message is missed); the watching thread passes it to [`Watch::poll`]
//! and sleeps for the time that this returns. The end of a message therefore cancels both limits by itself.
//!
//! # A delayed poll
//! A thread that wakes much later than requested could not run, for one of three reasons, and each has
//! another consequence for the message:
//!
//! | reason | detected by | the delay |
//! | --- | --- | --- |
//! | the device slept | BOOTTIME − MONOTONIC grew | does not count |
//! | the process was frozen or stopped | the process used no CPU time meanwhile | does not count |
//! | only the watching thread was late | the process used CPU time | counts, and the report has the delay |

use trace_format::android::ANR_LIMIT_MS;

/// The ages at which a message is a LAG and an ANR, ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// LAG from here on (Matrix `DEFAULT_NORMAL_LAG`); 0 for never.
    pub lag_ms: u64,
    /// ANR from here on (Matrix `DEFAULT_ANR`); 0 for never.
    pub anr_ms: u64,
    /// ANRs that are detected later than this are not reported (Matrix `DEFAULT_ANR_INVALID`, 6,000: "the timer ran late"); 0, our
    /// default: always report.
    pub too_late_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { lag_ms: 2_000, anr_ms: ANR_LIMIT_MS, too_late_ms: 0 }
    }
}

impl Limits {
    /// Matrix's limits: a report that would be a second late is dropped.
    pub const MATRIX: Limits = Limits { lag_ms: 2_000, anr_ms: ANR_LIMIT_MS, too_late_ms: 6_000 };
}

/// A poll of the watched thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Poll {
    /// Now, in the clock of `begun_ns` (BOOTTIME).
    pub now_ns: u64,
    /// When the open message began; 0 if none is open. It identifies the message.
    pub begun_ns: u64,
    /// How much later than requested the watching thread woke.
    pub late_ns: u64,
    /// BOOTTIME − MONOTONIC: how long the device slept since it started.
    pub slept_ns: u64,
    /// The process's CPU time (CLOCK_PROCESS_CPUTIME_ID); `None` if it is not known.
    pub cpu_ns: Option<u64>,
}

/// Reasons not to report a stall. Read only when a limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessState {
    /// A debugger is attached: a main thread at a breakpoint is stalled on purpose.
    pub debugger: bool,
    /// The process is dying of an uncaught exception: a crash handler keeps main busy (Matrix's issue #739).
    pub dying: bool,
}

/// Why a LAG or an ANR is not reported.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Suppressed {
    /// [`ProcessState::debugger`].
    Debugger,
    /// [`ProcessState::dying`].
    Dying,
    /// [`Limits::too_late_ms`].
    TooLate,
}

/// A limit that was reached; once per message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Due {
    /// How long the message has been running, without the time in which the process was frozen.
    pub age_ns: u64,
    /// How long the process was frozen.
    pub frozen_ns: u64,
    /// Whether the watching thread was late while the process ran: the limit was reached earlier.
    pub timer_late: bool,
    /// Why it must not be reported; `None` if it must.
    pub suppressed: Option<Suppressed>,
}

/// The result of a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PollResult {
    /// The message has become a LAG.
    pub lag: Option<Due>,
    /// The message has become an ANR.
    pub anr: Option<Due>,
    /// How long to sleep until the next poll, ns.
    pub sleep_ns: u64,
}

/// A poll that is delayed by less is on time: the CPUs are busy.
const LATE_NS: u64 = 500_000_000;
/// The process ran during a delay if it used at least one part in this many of it.
const RAN_SHARE: u64 = 100;
const MS: u64 = 1_000_000;

#[derive(Clone, Copy, Default)]
struct MessageState {
    begun_ns: u64,
    frozen_ns: u64,
    timer_late: bool,
    lag_reported: bool,
    anr_reported: bool,
}

/// The state of the watching thread.
#[derive(Default)]
pub struct Watch {
    limits: Limits,
    message: MessageState,
    /// The last poll.
    before: Poll,
}

impl Watch {
    /// A watch that has seen nothing.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Watch { limits, ..Watch::default() }
    }

    /// Sets the limits from the next poll on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Evaluates a poll. `process` is called at most once, and only if a limit was reached.
    pub fn poll(&mut self, poll: Poll, process: &mut dyn FnMut() -> ProcessState) -> PollResult {
        if poll.begun_ns != self.message.begun_ns {
            self.message = MessageState { begun_ns: poll.begun_ns, ..MessageState::default() };
        }
        if poll.late_ns > LATE_NS {
            self.judge_lateness(poll);
        }
        self.before = poll;
        self.due(poll, process)
    }

    fn judge_lateness(&mut self, poll: Poll) {
        let slept_ns = poll.slept_ns.saturating_sub(self.before.slept_ns).min(poll.late_ns);
        let awake_ns = poll.late_ns - slept_ns;
        let ran = match (poll.cpu_ns, self.before.cpu_ns) {
            (Some(now), Some(then)) => now.saturating_sub(then) >= awake_ns / RAN_SHARE,
            _ => false,
        };
        let frozen_ns = if ran { slept_ns } else { poll.late_ns };
        // If the message began during the delay it was frozen for no longer than its age.
        let age_ns = poll.now_ns.saturating_sub(self.message.begun_ns);
        self.message.frozen_ns = self.message.frozen_ns.saturating_add(frozen_ns).min(age_ns);
        self.message.timer_late |= ran && awake_ns > LATE_NS;
    }

    fn due(&mut self, poll: Poll, process: &mut dyn FnMut() -> ProcessState) -> PollResult {
        let limit_ns = |ms: u64| if ms == 0 { u64::MAX } else { ms.saturating_mul(MS) };
        let (lag_ns, anr_ns) = (limit_ns(self.limits.lag_ms), limit_ns(self.limits.anr_ms));
        let first_ns = lag_ns.min(anr_ns);
        if poll.begun_ns == 0 {
            return PollResult { lag: None, anr: None, sleep_ns: first_ns };
        }
        let message = &mut self.message;
        let age_ns = poll.now_ns.saturating_sub(poll.begun_ns).saturating_sub(message.frozen_ns);
        let lag = age_ns >= lag_ns && !std::mem::replace(&mut message.lag_reported, true);
        let anr = age_ns >= anr_ns && !std::mem::replace(&mut message.anr_reported, true);
        let (frozen_ns, timer_late) = (message.frozen_ns, message.timer_late);
        let mut due = Due { age_ns, frozen_ns, timer_late, suppressed: None };
        if lag || anr {
            due.suppressed = match process() {
                ProcessState { debugger: true, .. } => Some(Suppressed::Debugger),
                ProcessState { dying: true, .. } => Some(Suppressed::Dying),
                _ => None,
            };
        }
        let too_late = anr && age_ns >= limit_ns(self.limits.too_late_ms);
        let next_ns = [lag_ns, anr_ns].into_iter().filter(|limit| *limit > age_ns).min();
        PollResult {
            lag: lag.then_some(due),
            anr: anr.then(|| Due {
                suppressed: due.suppressed.or(too_late.then_some(Suppressed::TooLate)),
                ..due
            }),
            // Once both are reported, the next message cannot reach a limit before the first of them.
            sleep_ns: next_ns.map_or(first_ns, |limit| (limit - age_ns).min(first_ns)),
        }
    }
}
