//! Idle handlers: the cost of each, and which one does not return.
//!
//! The shim wraps each handler once, keeps those that were there before, and skips our own. Its wrapper calls
//! [`IdleRun::begin`], the handler, and in a `finally` [`IdleRun::end`], so that a handler that throws has ended too (Matrix
//! keeps waiting for it and reports it). The watching thread gives [`IdleRun::begun_ns`] to a [`crate::looper::Watch`] with
//! [`LIMITS`].

use std::sync::atomic::{AtomicU64, Ordering};

use crate::looper::Limits;

/// The limits: LAG from 2 s on, never an ANR (Matrix `DEFAULT_IDLE_HANDLER_LAG`).
pub const LIMITS: Limits = Limits { lag_ms: 2_000, anr_ms: 0, ..Limits::DEFAULT };

/// The running idle handler. Written by the watched thread, read by any.
#[derive(Debug, Default)]
pub struct IdleRun {
    begun_ns: AtomicU64,
    class: AtomicU64,
}

/// An idle handler that ran.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IdleCost {
    /// Its class, a text id.
    pub class: u32,
    /// When it began, ns.
    pub begun_ns: u64,
    /// How long it took, ns.
    pub took_ns: u64,
}

impl IdleRun {
    /// No handler is running.
    #[must_use]
    pub const fn new() -> Self {
        IdleRun { begun_ns: AtomicU64::new(0), class: AtomicU64::new(0) }
    }

    /// A handler of this class begins.
    pub fn begin(&self, class: u32, at_ns: u64) {
        self.class.store(u64::from(class), Ordering::Relaxed);
        self.begun_ns.store(at_ns.max(1), Ordering::Release);
    }

    /// The handler returned or threw; its cost. `None` if none had begun: it ran a nested loop with idle handlers.
    pub fn end(&self, at_ns: u64) -> Option<IdleCost> {
        let begun_ns = self.begun_ns.load(Ordering::Relaxed);
        self.begun_ns.store(0, Ordering::Release);
        (begun_ns != 0).then(|| IdleCost {
            class: self.class(),
            begun_ns,
            took_ns: at_ns.saturating_sub(begun_ns),
        })
    }

    /// When the running handler began, ns; 0 if none is running.
    #[must_use]
    pub fn begun_ns(&self) -> u64 {
        self.begun_ns.load(Ordering::Acquire)
    }

    /// The class of the running handler, or of the last one.
    #[must_use]
    pub fn class(&self) -> u32 {
        self.class.load(Ordering::Relaxed) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looper::{Poll, ProcessState, Watch};

    const S: u64 = 1_000_000_000;

    fn lag(watch: &mut Watch, run: &IdleRun, now_ns: u64) -> bool {
        let poll = Poll { now_ns, begun_ns: run.begun_ns(), ..Poll::default() };
        let result = watch.poll(poll, &mut ProcessState::default);
        assert_eq!(result.anr, None);
        result.lag.is_some()
    }

    #[test]
    fn an_idle_handler_is_a_lag_from_two_seconds_on_once() {
        let (run, mut watch) = (IdleRun::default(), Watch::new(LIMITS));
        run.begin(7, 10 * S);
        assert!(!lag(&mut watch, &run, 12 * S - 1));
        assert!(lag(&mut watch, &run, 12 * S));
        assert!(!lag(&mut watch, &run, 60 * S));
        assert_eq!(run.end(61 * S), Some(IdleCost { class: 7, begun_ns: 10 * S, took_ns: 51 * S }));
        assert!(!lag(&mut watch, &run, 70 * S));
    }

    #[test]
    fn an_idle_handler_that_threw_has_ended() {
        let (run, mut watch) = (IdleRun::default(), Watch::new(LIMITS));
        run.begin(7, 10 * S);
        // The wrapper's `finally`.
        assert!(run.end(11 * S).is_some());
        assert!(!lag(&mut watch, &run, 20 * S));
        assert_eq!(run.end(21 * S), None);
    }
}
