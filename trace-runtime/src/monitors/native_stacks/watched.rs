//! Heartbeats of the app's own threads, such as a game's, Dart's or a JavaScript engine's: a thread that misses its limit is recorded.
//!
//! A beat adds 1 to a counter of the thread's own; nothing else happens on the thread. The thread `anrscope-stacks` reads the counters, four
//! times in the shortest limit. While the app is in the background nothing is missed: a game then stops by itself.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::monitors::app_state;
use crate::monitors::config::redact;
use crate::recorder::notice;
use crate::writing::is_gone;
use crate::writing::thread::gettid;

/// The most threads that are watched at a time.
pub(crate) const MAX_THREADS: usize = 16;
/// The shortest and the longest limit, ms.
const LIMITS_MS: (u32, u32) = (100, 600_000);
/// The most captures of one missed beat.
const MAX_CAPTURES: u32 = 20;
/// The most missed beats that are recorded: a thread that is always late must not fill the recording.
const MAX_RECORDED: u32 = 200;

static SEATS: [Seat; MAX_THREADS] = [const { Seat::free() }; MAX_THREADS];

/// A watched thread.
struct Seat {
    /// 0 while the seat is free, [`TAKEN`] while it is being filled.
    tid: AtomicU32,
    limit_ms: AtomicU32,
    /// Only the thread itself stores to it.
    beats: AtomicU32,
}

const TAKEN: u32 = u32::MAX;

impl Seat {
    const fn free() -> Self {
        Self { tid: AtomicU32::new(0), limit_ms: AtomicU32::new(0), beats: AtomicU32::new(0) }
    }
}

thread_local! {
    /// Its seat and its tid. The seat may be another thread's by now, see [`forget`].
    static SEAT: Cell<Option<(&'static Seat, u32)>> = const { Cell::new(None) };
    static END: ForgetAtEnd = const { ForgetAtEnd };
}

/// Its destructor runs when a watched thread ends.
struct ForgetAtEnd;

impl Drop for ForgetAtEnd {
    fn drop(&mut self) {
        unwatch();
    }
}

/// Watches the calling thread: from now on it must beat at least once in `limit_ms`. Returns its tid, 0 if too many threads are watched. A
/// thread that is watched already gets the new limit.
pub(crate) fn watch(limit_ms: u32) -> u32 {
    let limit_ms = limit_ms.clamp(LIMITS_MS.0, LIMITS_MS.1);
    let tid = gettid();
    let Some((seat, _)) = own().or_else(|| take(tid, limit_ms)) else { return 0 };
    seat.limit_ms.store(limit_ms, Ordering::Relaxed);
    beat();
    tid
}

/// The calling thread's seat and its tid.
fn own() -> Option<(&'static Seat, u32)> {
    let own = SEAT.try_with(Cell::get).ok().flatten();
    own.filter(|(seat, tid)| seat.tid.load(Ordering::Relaxed) == *tid)
}

fn take(tid: u32, limit_ms: u32) -> Option<(&'static Seat, u32)> {
    // Registers the destructor; where that is no longer possible the thread is ending.
    END.try_with(|_| ()).ok()?;
    let is_free =
        |seat: &&Seat| seat.tid.compare_exchange(0, TAKEN, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    let seat = SEATS.iter().find(is_free)?;
    seat.limit_ms.store(limit_ms, Ordering::Relaxed);
    SEAT.set(Some((seat, tid)));
    seat.tid.store(tid, Ordering::Release);
    Some((seat, tid))
}

/// The calling thread is alive. Does nothing on a thread that is not watched.
#[inline]
pub(crate) fn beat() {
    if let Some((seat, _)) = own() {
        // One writer: a load and a store.
        seat.beats.store(seat.beats.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
    }
}

/// Stops watching the calling thread.
pub(crate) fn unwatch() {
    if let Ok(Some((seat, tid))) = SEAT.try_with(|seat| seat.replace(None)) {
        let _ = seat.tid.compare_exchange(tid, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// Stops watching the thread `tid`, whose beats do nothing from then on.
pub(crate) fn forget(tid: u32) {
    for seat in &SEATS {
        let _ = seat.tid.compare_exchange(tid, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

/// What is known of the beats. Owned by the thread `anrscope-stacks`.
#[derive(Default)]
pub(super) struct Watch {
    seats: [Seen; MAX_THREADS],
    polled_ns: u64,
    recorded: u32,
}

#[derive(Clone, Copy, Default)]
struct Seen {
    tid: u32,
    beats: u32,
    /// For how long there was no beat, ns.
    silent_ns: u64,
    missed: bool,
    captures: u32,
    captured_ns: u64,
}

impl Watch {
    /// The time until the next poll; `None` while no thread is watched.
    pub(super) fn pause(&self) -> Option<Duration> {
        let watched = SEATS.iter().filter(|seat| !matches!(seat.tid.load(Ordering::Acquire), 0 | TAKEN));
        let shortest = watched.map(|seat| seat.limit_ms.load(Ordering::Relaxed)).min()?;
        Some(Duration::from_millis((shortest / 4).clamp(20, 1_000).into()))
    }

    /// Reads the counters at `now_ns`. Calls `capture` for each thread whose stack is to be taken, `interval_ns` apart.
    pub(super) fn poll(&mut self, now_ns: u64, interval_ns: u64, mut capture: impl FnMut(u32)) {
        let foreground = app_state::foreground_if_known() != Some(false);
        // If this thread itself did not run, for example because the process was frozen, the others did not either.
        let passed = now_ns.saturating_sub(self.polled_ns).min(2_000_000_000);
        let passed = if self.polled_ns == 0 { 0 } else { passed };
        self.polled_ns = now_ns;
        for (seat, seen) in SEATS.iter().zip(&mut self.seats) {
            let tid = seat.tid.load(Ordering::Acquire);
            if matches!(tid, 0 | TAKEN) {
                continue;
            }
            let limit_ns = u64::from(seat.limit_ms.load(Ordering::Relaxed)) * 1_000_000;
            let beats = seat.beats.load(Ordering::Relaxed);
            if seen.tid != tid || seen.beats != beats || !foreground {
                if seen.tid == tid && seen.missed && self.recorded < MAX_RECORDED {
                    notice(&sentence(tid, " beats again after ", seen.silent_ns));
                }
                *seen = Seen { tid, beats, ..Seen::default() };
                continue;
            }
            // A step is half of the limit at most, so that one late poll misses nothing.
            seen.silent_ns += passed.min(limit_ns / 2);
            if seen.silent_ns < limit_ns {
                continue;
            }
            if is_gone(tid) {
                forget(tid);
                continue;
            }
            if !std::mem::replace(&mut seen.missed, true) {
                self.recorded += 1;
                if self.recorded <= MAX_RECORDED {
                    notice(&sentence(tid, " missed its heartbeat for ", seen.silent_ns));
                }
            }
            if seen.captures < MAX_CAPTURES && now_ns.saturating_sub(seen.captured_ns) >= interval_ns {
                seen.captures += 1;
                seen.captured_ns = now_ns;
                capture(tid);
            }
        }
    }
}

/// `thread NAME (tid N) DID M ms`.
fn sentence(tid: u32, did: &str, ns: u64) -> String {
    [&named(tid), did, &(ns / 1_000_000).to_string(), " ms"].concat()
}

/// `thread NAME (tid N)`: at the start of a notice it tells a reader the name.
pub(super) fn named(tid: u32) -> String {
    let number = tid.to_string();
    let path = ["/proc/self/task/", &number, "/comm"].concat();
    let name = std::fs::read_to_string(path).unwrap_or_default();
    let name = redact::thread(name.trim_end());
    ["thread ", &name, " (tid ", &number, ")"].concat()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use trace_format::time::MS;

    #[test]
    fn a_missed_beat_is_found_and_an_ended_thread_is_forgotten() {
        let (commands, received) = mpsc::channel::<bool>();
        let (done, finished) = mpsc::channel::<u32>();
        let thread = std::thread::spawn(move || {
            let tid = watch(1_000);
            done.send(tid).unwrap();
            while received.recv().unwrap_or(false) {
                beat();
                done.send(tid).unwrap();
            }
        });
        let tid = finished.recv().unwrap();
        assert!(tid != 0 && Watch::default().pause().is_some());
        let mut watch = Watch::default();
        let mut at = |ms: u64| {
            let mut captured = Vec::new();
            watch.poll(ms * MS, 250 * MS, |tid| captured.push(tid));
            captured.retain(|of| *of == tid);
            captured.len()
        };
        assert_eq!([10_000, 10_250, 10_500, 10_750].map(&mut at), [0; 4]);
        commands.send(true).unwrap();
        finished.recv().unwrap();
        assert_eq!([11_000, 11_250, 11_500, 11_750].map(&mut at), [0; 4], "it has beaten");
        // Missed at 12,000; then again each 250 ms.
        assert_eq!([12_000, 12_100, 12_250, 12_500].map(&mut at), [1, 0, 1, 1]);
        let more: usize = (13..1_000).map(|s| at(s * 1_000)).sum();
        assert_eq!(more, MAX_CAPTURES as usize - 3, "not without end");
        // The poller itself was late by an hour: one step.
        commands.send(true).unwrap();
        finished.recv().unwrap();
        assert_eq!([2_000_000, 5_600_000].map(&mut at), [0, 0]);
        commands.send(false).unwrap();
        thread.join().unwrap();
        assert!(SEATS.iter().all(|seat| seat.tid.load(Ordering::Relaxed) != tid));
    }

    #[test]
    fn a_thread_that_is_not_watched_may_beat() {
        beat();
        unwatch();
        forget(gettid());
    }
}
