//! LAG and ANR: what the timer thread does at each of its polls. Main posts and cancels nothing; it stores
//! when its message began (`native_signal::StallTimer`).

use trace_rules::looper::{Due, Limits, Poll, PollResult, ProcessState, Suppressed, Watch};

use crate::main_thread::usage;
use crate::monitors::anr::snapshot;
use crate::monitors::config::options::{Setting, is_enabled, number};
use crate::monitors::looper::{messages, outermost, unknown};
use crate::monitors::stacks::sampler::{self, Wanted};
use crate::monitors::stacks::samples;
use crate::recorder::Recorder;
use crate::time::clock;

/// State of the timer thread.
#[derive(Default)]
pub(crate) struct Timers {
    watch: Watch,
    rate: samples::Rate,
    /// The message of which samples were taken.
    sampled: u64,
}

impl Timers {
    /// Polls the open message, which began at `since_ns`, 0 if no message is open. Returns whether main
    /// continues after a message that was sampled.
    pub(crate) fn poll(&mut self, recorder: &Recorder, since_ns: u64, now_ns: u64, late_ns: u64) -> bool {
        if !messages::is_started() {
            return false;
        }
        // Where a call stands for a message, the begin is from the last poll: the call may have ended.
        let over = since_ns != 0
            && outermost::is_watched(since_ns)
            && outermost::open().is_none_or(|open| open.since_ns != since_ns);
        let since_ns = if over { 0 } else { since_ns };
        let poll = Poll {
            now_ns,
            begun_ns: since_ns,
            late_ns,
            slept_ns: u64::try_from(clock::ahead()).unwrap_or(0),
            cpu_ns: clock::process_cpu(),
        };
        let seen =
            self.decide(poll, limits(), &mut || ProcessState { debugger: samples::debugger(), dying: false });
        if let Some(lag) = seen.lag.filter(is_reported) {
            snapshot::lag(since_ns, &lag);
        }
        if let Some(anr) = seen.anr.filter(is_reported) {
            // The snapshot includes main's CPU time up to now.
            usage::record(recorder);
            snapshot::anr(since_ns, now_ns, &anr);
        }
        let goes_on = self.sampled != since_ns && self.sampled != 0;
        if goes_on {
            samples::flush();
            self.sampled = 0;
        }
        sampler::expire(now_ns);
        goes_on
    }

    /// Samples main's stack while its message is suspect. Returns whether the message is watched.
    pub(crate) fn sample(&mut self, since_ns: u64, now_ns: u64) -> bool {
        if !messages::is_started() || !is_enabled(Setting::Anr) {
            return false;
        }
        self.sampled = since_ns;
        if self.rate.is_sample_due(since_ns, now_ns) {
            let still = move || messages::open().is_some_and(|open| open.since_ns == since_ns);
            let then = move |answer: sampler::Answer| {
                if outermost::is_idle(&answer.stack) {
                    unknown::idle(since_ns);
                }
                samples::taken(since_ns, answer, still());
            };
            sampler::ask(Wanted::Sample, Box::new(then));
        }
        true
    }

    fn decide(
        &mut self,
        poll: Poll,
        limits: Limits,
        evidence: &mut dyn FnMut() -> ProcessState,
    ) -> PollResult {
        self.watch.set_limits(limits);
        self.watch.poll(poll, evidence)
    }
}

/// The current limits.
fn limits() -> Limits {
    if !is_enabled(Setting::Anr) {
        return Limits { lag_ms: 0, anr_ms: 0, too_late_ms: 0 };
    }
    Limits {
        lag_ms: number(Setting::LagMs),
        anr_ms: number(Setting::AnrMs),
        too_late_ms: number(Setting::AnrTooLateMs),
    }
}

/// Whether a finding is reported: not with a debugger attached, nor later than the option `anr_too_late_ms`
/// allows.
fn is_reported(due: &Due) -> bool {
    !matches!(due.suppressed, Some(Suppressed::Debugger | Suppressed::TooLate))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Polls a message that began at 1 ms, at these ages in virtual time; returns what was reported at
    /// each.
    fn reported(ages_ms: &[u64], limits: Limits) -> Vec<(bool, bool)> {
        let mut timers = Timers::default();
        let poll = |age_ms: &u64| {
            let poll = Poll { now_ns: (1 + age_ms) * MS, begun_ns: MS, ..Poll::default() };
            let seen = timers.decide(poll, limits, &mut ProcessState::default);
            (seen.lag.is_some(), seen.anr.is_some())
        };
        ages_ms.iter().map(poll).collect()
    }

    #[test]
    fn a_lag_is_reported_at_2000_ms_and_an_anr_at_5000() {
        let ages = [1_999, 2_000, 2_001, 4_999, 5_000, 5_001];
        let expected =
            [(false, false), (true, false), (false, false), (false, false), (false, true), (false, false)];
        assert_eq!(reported(&ages, Limits::default()), expected);
    }

    #[test]
    fn a_message_that_ends_before_a_limit_is_not_reported() {
        let mut timers = Timers::default();
        let mut poll = |now_ms: u64, begun_ms: u64| {
            let poll = Poll { now_ns: now_ms * MS, begun_ns: begun_ms * MS, ..Poll::default() };
            let seen = timers.decide(poll, Limits::default(), &mut ProcessState::default);
            (seen.lag.is_some(), seen.anr.is_some())
        };
        assert_eq!(poll(2_000, 1), (false, false));
        // It ended, and another began: each is reported separately.
        assert_eq!(poll(2_001, 2_001), (false, false));
        assert_eq!(poll(4_001, 2_001), (true, false));
        assert_eq!(poll(7_000, 2_001), (false, false));
        assert_eq!(poll(7_001, 0), (false, false));
    }

    #[test]
    fn limits_change_while_a_message_runs_and_0_means_never() {
        let mut timers = Timers::default();
        let mut poll = |limits| {
            let poll = Poll { now_ns: 4_000 * MS, begun_ns: MS, ..Poll::default() };
            let seen = timers.decide(poll, limits, &mut ProcessState::default);
            (seen.lag.is_some(), seen.anr.is_some())
        };
        assert_eq!(poll(Limits { lag_ms: 0, anr_ms: 0, too_late_ms: 0 }), (false, false));
        assert_eq!(poll(Limits { lag_ms: 0, anr_ms: 3_999, too_late_ms: 0 }), (false, true));
        assert_eq!(poll(Limits { lag_ms: 3_999, anr_ms: 3_999, too_late_ms: 0 }), (true, false));
    }

    #[test]
    fn a_debugger_silences_both_and_a_delayed_timer_does_not() {
        let due = |suppressed| Due { age_ns: 5_000 * MS, frozen_ns: 0, timer_late: true, suppressed };
        assert!(is_reported(&due(None)));
        assert!(!is_reported(&due(Some(Suppressed::Debugger))));
        assert!(!is_reported(&due(Some(Suppressed::TooLate))));
    }
}
