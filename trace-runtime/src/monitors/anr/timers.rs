//! LAG and ANR: what the timer thread does at each of its polls. Main posts and cancels nothing; it stores
//! when its message began (`native_signal::StallTimer`).

use trace_rules::looper::{Limits, Poll, PollResult};

use crate::main_thread::{message_source, poll, usage};
use crate::monitors::anr::snapshot;
use crate::monitors::anr::system_trace::SystemTrace;
use crate::monitors::config::options::{Setting, is_enabled, number};
use crate::monitors::looper::{messages, outermost, unknown};
use crate::monitors::stacks::sampler::{self, Wanted};
use crate::monitors::stacks::samples;
use crate::recorder::Recorder;

/// State of the timer thread.
#[derive(Default)]
pub(crate) struct Timers {
    rate: samples::Rate,
    /// The message of which samples were taken.
    sampled: u64,
    system_trace: SystemTrace,
}

impl Timers {
    /// Reports the LAG and the ANR that this poll of main's message found. Returns whether main continues after a
    /// message that was sampled.
    pub(crate) fn report(&mut self, recorder: &Recorder, poll: &Poll, seen: &PollResult) -> bool {
        if !message_source::is_reported() {
            return false;
        }
        let since_ns = if poll.unconfirmed { 0 } else { poll.begun_ns };
        if seen.lag.is_some_and(|due| due.reported) {
            snapshot::lag(since_ns);
        }
        let reports_anr = is_enabled(Setting::Anr) && number(Setting::AnrMs) > 0;
        if let Some(anr) = seen.anr.filter(|due| reports_anr && due.reported) {
            // The snapshot includes main's CPU time up to now.
            usage::record(recorder);
            snapshot::anr(since_ns, poll.now_ns, &anr);
        }
        let goes_on = self.sampled != since_ns && self.sampled != 0;
        if goes_on {
            samples::flush();
            self.sampled = 0;
        }
        sampler::expire(poll.now_ns);
        goes_on
    }

    /// Samples main's stack while its message is suspect, and requests a system trace once it is old. Returns whether the message is watched.
    pub(crate) fn sample(&mut self, since_ns: u64, now_ns: u64) -> bool {
        if !message_source::is_reported() || !is_enabled(Setting::Anr) {
            return false;
        }
        self.sampled = since_ns;
        self.system_trace.poll(since_ns, now_ns);
        if self.rate.is_sample_due(since_ns, now_ns) {
            let still = move || messages::open().is_some_and(|open| open.since_ns == since_ns);
            let then = move |answer: sampler::Answer| {
                if poll::is_innermost(&answer.stack) {
                    unknown::idle(since_ns);
                }
                samples::taken(since_ns, answer, still());
            };
            sampler::ask(Wanted::Sample, Box::new(then));
        }
        true
    }
}

/// Whether what began at `since_ns` is over although the timer still watches it: where a call stands for a message,
/// the begin is from the last time that main's record was read.
pub(crate) fn is_over(since_ns: u64) -> bool {
    since_ns != 0
        && message_source::is_reported()
        && outermost::is_watched(since_ns)
        && outermost::open().is_none_or(|open| open.since_ns != since_ns)
}

/// The current limits; `None` if messages are not reported.
pub(crate) fn limits() -> Option<Limits> {
    message_source::is_reported().then(|| limits_of(is_enabled(Setting::Anr), number))
}

/// The limits by these options. A stall is recorded even where ANRs are not reported.
fn limits_of(reports: bool, number: impl Fn(Setting) -> u64) -> Limits {
    let default = Limits::DEFAULT;
    let samples = reports && number(Setting::SampleMs) > 0;
    let sample_from_ms = if samples { number(Setting::SampleFromMs) } else { u64::MAX };
    Limits {
        suspect_ms: default.suspect_ms.min(sample_from_ms),
        lag_ms: if reports { number(Setting::LagMs) } else { 0 },
        anr_ms: Some(number(Setting::AnrMs)).filter(|ms| *ms > 0).unwrap_or(default.anr_ms),
        too_late_ms: number(Setting::AnrTooLateMs),
        ..default
    }
}

#[cfg(test)]
mod tests {
    use trace_rules::looper::Watch;

    use super::*;
    use trace_format::time::MS;

    fn options(lag_ms: u64, anr_ms: u64, sample_ms: u64) -> impl Fn(Setting) -> u64 {
        move |setting| match setting {
            Setting::LagMs => lag_ms,
            Setting::AnrMs => anr_ms,
            Setting::SampleMs => sample_ms,
            Setting::SampleFromMs => 300,
            _ => 0,
        }
    }

    #[test]
    fn a_lag_is_reported_at_2000_ms_and_an_anr_at_5000() {
        let mut watch = Watch::new(limits_of(true, options(2_000, 5_000, 66)));
        let mut reported = |age_ms: u64| {
            let poll = Poll { now_ns: (1 + age_ms) * MS, begun_ns: MS, ..Poll::default() };
            let seen = watch.poll(poll);
            (seen.lag.is_some(), seen.anr.is_some())
        };
        let ages = [1_999, 2_000, 2_001, 4_999, 5_000, 5_001].map(&mut reported);
        let expected =
            [(false, false), (true, false), (false, false), (false, false), (false, true), (false, false)];
        assert_eq!(ages, expected);
    }

    #[test]
    fn the_options_limits_and_0_means_never_but_for_the_record_of_a_stall() {
        let limits = |reports, lag_ms, anr_ms, sample_ms| {
            let limits = limits_of(reports, options(lag_ms, anr_ms, sample_ms));
            (limits.suspect_ms, limits.lag_ms, limits.anr_ms)
        };
        assert_eq!(limits(true, 2_000, 5_000, 66), (300, 2_000, 5_000));
        assert_eq!(limits(true, 2_000, 5_000, 0), (1_000, 2_000, 5_000));
        assert_eq!(limits(true, 0, 0, 0), (1_000, 0, 5_000));
        assert_eq!(limits(false, 2_000, 8_000, 66), (1_000, 0, 8_000));
    }

    #[test]
    fn a_debugger_silences_both_and_a_delayed_timer_does_not() {
        let anr = |debugger, late_ms: u64| {
            let poll = Poll { debugger, now_ns: (5_001 + late_ms) * MS, begun_ns: MS, ..Poll::default() };
            let limits = Limits { too_late_ms: 6_000, ..limits_of(true, options(2_000, 5_000, 66)) };
            Watch::new(limits).poll(poll).anr.unwrap().reported
        };
        assert!(anr(false, 0) && anr(false, 999));
        assert!(!anr(true, 0) && !anr(false, 1_000));
    }
}
