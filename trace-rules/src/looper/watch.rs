//! When a message that does not end is a LAG, and when an ANR: what the watching thread decides at each look.
//!
//! The watched thread posts nothing and cancels nothing. It stores when its message began, 0 between messages
//! (`native_signal::StallTimer` has that word and says why no look is missed); whoever watches calls [`Watch::look`] with it
//! and sleeps as long as that says. A message's end therefore cancels both timers by itself.
//!
//! # A look that comes late
//! A thread that wakes much later than it asked for was kept from running, for one of three reasons, and each means
//! something else for the message:
//!
//! | what | seen by | the stretch |
//! | --- | --- | --- |
//! | the device slept | BOOTTIME − MONOTONIC moved | is no time of the message's |
//! | the process was frozen or stopped | the process used no processor time meanwhile | is none either |
//! | only the watching thread was late | the process did | counts, and the report says how late it is |

use trace_format::android::ANR_LIMIT_MS;

/// When a message is a LAG, and an ANR, in milliseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// LAG from here on (Matrix `DEFAULT_NORMAL_LAG`); 0 for never.
    pub lag_ms: u64,
    /// ANR from here on (Matrix `DEFAULT_ANR`); 0 for never.
    pub anr_ms: u64,
    /// No ANR is told from here on (Matrix `DEFAULT_ANR_INVALID`, 6,000: "the timer ran late"); 0, ours, for always.
    pub too_late_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { lag_ms: 2_000, anr_ms: ANR_LIMIT_MS, too_late_ms: 0 }
    }
}

impl Limits {
    /// Matrix's: a report that would be a second late is dropped.
    pub const MATRIX: Limits = Limits { lag_ms: 2_000, anr_ms: ANR_LIMIT_MS, too_late_ms: 6_000 };
}

/// A look at the watched thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Look {
    /// Now, in the clock of `begun_ns` (BOOTTIME).
    pub now_ns: u64,
    /// When the open message began; 0 if none is open. Two messages are told apart by it.
    pub begun_ns: u64,
    /// How much later than it asked for the watching thread woke.
    pub late_ns: u64,
    /// BOOTTIME − MONOTONIC: how long the device slept since it started.
    pub slept_ns: u64,
    /// The process's processor time (CLOCK_PROCESS_CPUTIME_ID); `None` if it is not known.
    pub cpu_ns: Option<u64>,
}

/// What makes a stuck main thread none. Asked only when a limit was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Evidence {
    /// A debugger is attached: a main thread at a breakpoint is stuck on purpose.
    pub debugger: bool,
    /// The process is dying of an uncaught exception: a crash handler keeps main busy (Matrix's issue #739).
    pub dying: bool,
}

/// Why a LAG or an ANR is not told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Suppressed {
    /// [`Evidence::debugger`].
    Debugger,
    /// [`Evidence::dying`].
    Dying,
    /// [`Limits::too_late_ms`].
    TooLate,
}

/// A limit that was reached. Once a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Due {
    /// How long the message has been running, without stretches in which the process did not.
    pub age_ns: u64,
    /// How long those stretches were.
    pub frozen_ns: u64,
    /// Whether the watching thread was late while the process ran: the limit was reached earlier than it is told.
    pub timer_late: bool,
    /// Why it is not to be told, if it is not.
    pub suppressed: Option<Suppressed>,
}

/// What a look showed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// The message has become a LAG.
    pub lag: Option<Due>,
    /// The message has become an ANR.
    pub anr: Option<Due>,
    /// How long to sleep until the next look, ns.
    pub sleep_ns: u64,
}

/// A look that is late by less is on time: an ordinary busy machine.
const LATE_NS: u64 = 500_000_000;
/// The process ran in a late stretch if it used this share of it, one in so many.
const RAN_SHARE: u64 = 100;
const MS: u64 = 1_000_000;

#[derive(Clone, Copy, Default)]
struct Case {
    begun_ns: u64,
    frozen_ns: u64,
    timer_late: bool,
    lag_told: bool,
    anr_told: bool,
}

/// What the watching thread remembers.
#[derive(Default)]
pub struct Watch {
    limits: Limits,
    case: Case,
    /// The look before.
    before: Look,
}

impl Watch {
    /// A watch that has seen nothing.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Watch { limits, ..Watch::default() }
    }

    /// Other limits from the next look on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    /// Looks. `evidence` is called at most once, and only if a limit was reached.
    pub fn look(&mut self, look: Look, evidence: &mut dyn FnMut() -> Evidence) -> Seen {
        if look.begun_ns != self.case.begun_ns {
            self.case = Case { begun_ns: look.begun_ns, ..Case::default() };
        }
        if look.late_ns > LATE_NS {
            self.judge_lateness(look);
        }
        self.before = look;
        self.due(look, evidence)
    }

    fn judge_lateness(&mut self, look: Look) {
        let slept_ns = look.slept_ns.saturating_sub(self.before.slept_ns).min(look.late_ns);
        let awake_ns = look.late_ns - slept_ns;
        let ran = match (look.cpu_ns, self.before.cpu_ns) {
            (Some(now), Some(then)) => now.saturating_sub(then) >= awake_ns / RAN_SHARE,
            _ => false,
        };
        let frozen_ns = if ran { slept_ns } else { look.late_ns };
        // Of a message that began inside of the stretch no more than its age can have been frozen.
        let age_ns = look.now_ns.saturating_sub(self.case.begun_ns);
        self.case.frozen_ns = self.case.frozen_ns.saturating_add(frozen_ns).min(age_ns);
        self.case.timer_late |= ran && awake_ns > LATE_NS;
    }

    fn due(&mut self, look: Look, evidence: &mut dyn FnMut() -> Evidence) -> Seen {
        let limit_ns = |ms: u64| if ms == 0 { u64::MAX } else { ms.saturating_mul(MS) };
        let (lag_ns, anr_ns) = (limit_ns(self.limits.lag_ms), limit_ns(self.limits.anr_ms));
        let first_ns = lag_ns.min(anr_ns);
        if look.begun_ns == 0 {
            return Seen { lag: None, anr: None, sleep_ns: first_ns };
        }
        let case = &mut self.case;
        let age_ns = look.now_ns.saturating_sub(look.begun_ns).saturating_sub(case.frozen_ns);
        let lag = age_ns >= lag_ns && !std::mem::replace(&mut case.lag_told, true);
        let anr = age_ns >= anr_ns && !std::mem::replace(&mut case.anr_told, true);
        let (frozen_ns, timer_late) = (case.frozen_ns, case.timer_late);
        let mut due = Due { age_ns, frozen_ns, timer_late, suppressed: None };
        if lag || anr {
            due.suppressed = match evidence() {
                Evidence { debugger: true, .. } => Some(Suppressed::Debugger),
                Evidence { dying: true, .. } => Some(Suppressed::Dying),
                _ => None,
            };
        }
        let too_late = anr && age_ns >= limit_ns(self.limits.too_late_ms);
        let next_ns = [lag_ns, anr_ns].into_iter().filter(|limit| *limit > age_ns).min();
        Seen {
            lag: lag.then_some(due),
            anr: anr.then(|| Due {
                suppressed: due.suppressed.or(too_late.then_some(Suppressed::TooLate)),
                ..due
            }),
            // Once all was told, the next message cannot reach a limit before the first of them.
            sleep_ns: next_ns.map_or(first_ns, |limit| (limit - age_ns).min(first_ns)),
        }
    }
}
