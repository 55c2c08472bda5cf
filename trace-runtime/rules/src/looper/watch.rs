//! Decides at each poll of the watching thread what the open message is: suspect, a LAG, an ANR, or the end of one. It also
//! decides which time counts. Nothing else decides that: the monitors, the samples, the recording's stalls and the evidence of a
//! SIGQUIT all ask this rule.
//!
//! The watched thread posts nothing and cancels nothing. It stores when its message began, 0 between messages
//! (`native_signal::StallTimer` has that word and explains why no message is missed). The watching thread passes it to [`Watch::poll`]
//! and sleeps for the time that this returns. The end of a message therefore cancels all limits by itself.
//!
//! # A delayed poll
//! A thread that wakes more than half a second later than requested could not run, for one of three reasons, and each has
//! another consequence for the message:
//!
//! | reason | detected by | the delay |
//! | --- | --- | --- |
//! | the device slept | BOOTTIME − MONOTONIC grew | does not count |
//! | the process was frozen or stopped | the process used no CPU time meanwhile | does not count |
//! | only the watching thread was late | the process used CPU time | counts, and the report has the delay |
//!
//! A freezer stops all threads of a process at once, in the midst of a sleep of the watching thread (AOSP
//! `services/core/jni/com_android_server_utils_AnrTimer.cpp`, Android 16: frozen at the ANR timer's end, thawed before the dump; cached
//! apps since Android 11). What the process used before that belongs to the sleep. So the process ran during the delay only if it used
//! more than one CPU can give in the sleep, and a part of the delay on top.

use trace_format::android::ANR_LIMIT_MS;
use trace_format::time::MS;

/// The ages at which a message is suspect, a LAG and an ANR, ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Suspect from here on: it is polled every [`Limits::tick_ms`]. No later than the first of the other limits. Also the interval
    /// of the polls while messages come and go.
    pub suspect_ms: u64,
    /// The interval of polls while a message is suspect, and the precision of its end.
    pub tick_ms: u64,
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
        Limits::DEFAULT
    }
}

impl Limits {
    /// The limits of a message.
    pub const DEFAULT: Limits =
        Limits { suspect_ms: 1_000, tick_ms: 20, lag_ms: 2_000, anr_ms: ANR_LIMIT_MS, too_late_ms: 0 };
    /// Matrix's limits: a report that would be a second late is dropped.
    pub const MATRIX: Limits = Limits { too_late_ms: 6_000, ..Limits::DEFAULT };

    /// In ns: the age from which on a message is suspect, that of a LAG and that of an ANR.
    fn ages_ns(&self) -> (u64, u64, u64) {
        let age_ns = |ms: u64| if ms == 0 { u64::MAX } else { ms.saturating_mul(MS) };
        let (lag_ns, anr_ns) = (age_ns(self.lag_ms), age_ns(self.anr_ms));
        (self.suspect_ms.max(1).saturating_mul(MS).min(lag_ns).min(anr_ns), lag_ns, anr_ns)
    }
}

/// A poll of the watched thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Poll {
    /// Now, in the clock of `begun_ns` (BOOTTIME).
    pub now_ns: u64,
    /// When the open message began; 0 if none is open. With `generation` it identifies the message.
    pub begun_ns: u64,
    /// A number that the next message changes.
    pub generation: u32,
    /// Whether main does anything at all is not known yet: the message can be suspect, but neither a LAG nor an ANR.
    pub unconfirmed: bool,
    /// A debugger is attached.
    pub debugger: bool,
    /// When the watching thread was to wake from the sleep that ends here; 0 if it did not sleep or had no time to wake.
    pub due_ns: u64,
    /// BOOTTIME − MONOTONIC: how long the device slept since it started.
    pub slept_ns: u64,
    /// The process's CPU time (CLOCK_PROCESS_CPUTIME_ID); `None` if it is not known.
    pub cpu_ns: Option<u64>,
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
    /// False with a debugger attached, since a main thread at a breakpoint is stalled on purpose, and later than
    /// [`Limits::too_late_ms`].
    pub reported: bool,
}

/// The result of a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PollResult {
    /// The message is suspect: it is old enough to be sampled, or to look for signals that are not taken.
    pub suspect: bool,
    /// The message has become a LAG.
    pub lag: Option<Due>,
    /// The message has become an ANR.
    pub anr: Option<Due>,
    /// A message that became an ANR is over: when it began.
    pub recovered: Option<u64>,
    /// How long to sleep until the next poll, ns.
    pub sleep_ns: u64,
}

/// A poll that is delayed by no more is on time: the CPUs are busy.
const LATE_NS: u64 = 500_000_000;
/// The process ran during a delay if it used at least one part in this many of it.
const RAN_SHARE: u64 = 100;

#[derive(Clone, Copy, Default)]
struct MessageState {
    begun_ns: u64,
    generation: u32,
    frozen_ns: u64,
    timer_late: bool,
    lag_reported: bool,
    anr_reported: bool,
}

/// A delay of the watching thread.
#[derive(Clone, Copy, Default)]
struct Delay {
    /// How much of it does not count.
    frozen_ns: u64,
    /// Whether the process ran meanwhile.
    timer_late: bool,
}

/// The state of the watching thread.
#[derive(Default)]
pub struct Watch {
    limits: Limits,
    message: MessageState,
    /// When the watching thread began its sleep.
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

    /// Evaluates a poll.
    pub fn poll(&mut self, poll: Poll) -> PollResult {
        let mut recovered = None;
        let before = self.message;
        if (poll.begun_ns, poll.generation) != (before.begun_ns, before.generation) {
            recovered = before.anr_reported.then_some(before.begun_ns);
            let (begun_ns, generation) = (poll.begun_ns, poll.generation);
            self.message = MessageState { begun_ns, generation, ..MessageState::default() };
        }
        let delay = self.delay(&poll);
        self.message.frozen_ns = self.frozen(&poll, delay);
        self.message.timer_late |= delay.timer_late;
        self.before = poll;
        PollResult { recovered, ..self.due(poll) }
    }

    /// The watching thread sleeps from here on. Call it where there is much to do between a poll and its sleep; of `poll` only the
    /// three clocks are read.
    pub fn sleeps(&mut self, poll: Poll) {
        // A freezer may also come while the watching thread works.
        let working = Poll { due_ns: self.before.now_ns, ..poll };
        let frozen_ns = self.delay(&working).frozen_ns;
        self.message.frozen_ns = self.message.frozen_ns.saturating_add(frozen_ns);
        self.before = poll;
    }

    /// How long the process was frozen in the message of this poll, by the system's freezer, by SIGSTOP or with the sleeping device,
    /// also in a sleep that the watching thread has not ended yet: after a freeze another thread may be the first to run. Up to a
    /// tick too little, or up to [`Limits::suspect_ms`] if the message was younger than that.
    #[must_use]
    pub fn frozen_ns(&self, poll: Poll) -> u64 {
        self.frozen(&poll, self.delay(&poll))
    }

    /// How much of this poll's message was frozen. If it began during the delay that is no more than its age.
    fn frozen(&self, poll: &Poll, delay: Delay) -> u64 {
        let known_ns = if self.message.begun_ns == poll.begun_ns { self.message.frozen_ns } else { 0 };
        known_ns.saturating_add(delay.frozen_ns).min(poll.now_ns.saturating_sub(poll.begun_ns))
    }

    fn delay(&self, poll: &Poll) -> Delay {
        let late_ns = if poll.due_ns == 0 { 0 } else { poll.now_ns.saturating_sub(poll.due_ns) };
        if late_ns <= LATE_NS {
            return Delay::default();
        }
        let slept_ns = poll.slept_ns.saturating_sub(self.before.slept_ns).min(late_ns);
        let awake_ns = late_ns - slept_ns;
        let until_due_ns = poll.due_ns.saturating_sub(self.before.now_ns);
        let ran = match (poll.cpu_ns, self.before.cpu_ns) {
            (Some(now), Some(then)) => {
                now.saturating_sub(then) >= until_due_ns.saturating_add(awake_ns / RAN_SHARE)
            }
            _ => false,
        };
        Delay { frozen_ns: if ran { slept_ns } else { late_ns }, timer_late: ran && awake_ns > LATE_NS }
    }

    fn due(&mut self, poll: Poll) -> PollResult {
        let (suspect_ns, lag_ns, anr_ns) = self.limits.ages_ns();
        let mut result =
            PollResult { suspect: false, lag: None, anr: None, recovered: None, sleep_ns: suspect_ns };
        if poll.begun_ns == 0 {
            return result;
        }
        let message = &mut self.message;
        let age_ns = poll.now_ns.saturating_sub(poll.begun_ns).saturating_sub(message.frozen_ns);
        let reaches = |limit_ns: u64, reported: &mut bool| {
            !poll.unconfirmed && age_ns >= limit_ns && !std::mem::replace(reported, true)
        };
        let lag = reaches(lag_ns, &mut message.lag_reported);
        let anr = reaches(anr_ns, &mut message.anr_reported);
        let (frozen_ns, timer_late) = (message.frozen_ns, message.timer_late);
        let due = Due { age_ns, frozen_ns, timer_late, reported: !poll.debugger };
        let too_late = self.limits.too_late_ms > 0 && age_ns >= self.limits.too_late_ms * MS;
        result.lag = lag.then_some(due);
        result.anr = anr.then_some(Due { reported: due.reported && !too_late, ..due });
        result.suspect = age_ns >= suspect_ns;
        result.sleep_ns = if result.suspect {
            let next_ns = [lag_ns, anr_ns].into_iter().filter(|limit| *limit > age_ns).min();
            let tick_ns = self.limits.tick_ms.max(1).saturating_mul(MS);
            next_ns.map_or(tick_ns, |limit| tick_ns.min(limit - age_ns))
        } else {
            suspect_ns - age_ns
        };
        result
    }
}
