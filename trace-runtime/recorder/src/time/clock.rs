//! The clocks. Only CLOCK_BOOTTIME reaches the recording: it goes on in deep sleep, and a trace of the
//! system uses it too.

use std::sync::atomic::{AtomicI64, Ordering};

use trace_format::event::Clocks;

/// BOOTTIME − MONOTONIC may differ by this much between two snapshots merely because clocks are read one
/// after the other, ns.
pub(crate) const NOISE: u64 = 1_000_000;

/// How often clocks are compared while anything is recorded, ms.
pub(crate) const CHECK_MS: u32 = 100;

/// The time axis, ns, by the kernel's clock. A vDSO read on every kernel that Android uses: no system call.
#[inline]
pub fn boottime() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// The three clocks, as close to each other as three reads can be.
pub fn all() -> Clocks {
    Clocks {
        boottime: boottime(),
        monotonic: read(libc::CLOCK_MONOTONIC),
        realtime: read(libc::CLOCK_REALTIME),
    }
}

/// BOOTTIME − MONOTONIC: how long the device has slept, ns.
pub fn ahead() -> i64 {
    boottime().wrapping_sub(read(libc::CLOCK_MONOTONIC)) as i64
}

/// How far the time axis is ahead of CLOCK_MONOTONIC, by the last reading that differed; 0 before the first.
static STEADY: AtomicI64 = AtomicI64::new(0);

/// As [`ahead`], but the same from call to call unless the device has slept: the thread may be preempted
/// between the two reads, and a time that is converted twice must come out as it went in.
fn steady_ahead() -> i64 {
    let known = STEADY.load(Ordering::Relaxed);
    let reads = || (0..MAX_READS).map(|_| ahead());
    if reads().any(|now| now.abs_diff(known) <= NOISE) {
        return known;
    }
    // A preemption between its reads makes a reading smaller: MONOTONIC is read last.
    let moved = reads().max().unwrap_or(known);
    STEADY.store(moved, Ordering::Relaxed);
    moved
}

/// Readings before the clocks count as moved.
const MAX_READS: usize = 3;

/// A time of CLOCK_MONOTONIC (`System.nanoTime`, vsyncs, `FrameMetrics`) on the time axis. Right unless the
/// device has slept since.
pub fn of_monotonic(ns: u64) -> u64 {
    ns.saturating_add_signed(steady_ahead())
}

/// A time of the time axis as CLOCK_MONOTONIC shows it.
pub fn to_monotonic(ns: u64) -> u64 {
    ns.saturating_add_signed(steady_ahead().saturating_neg())
}

/// The CPU time of this process, ns.
pub fn process_cpu() -> Option<u64> {
    Some(read(libc::CLOCK_PROCESS_CPUTIME_ID)).filter(|ns| *ns > 0)
}

/// The CPU time of the calling thread, ns.
pub fn thread_cpu() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// REALTIME − BOOTTIME, ns: it changes only if the clock is set or adjusted.
pub fn realtime_ahead() -> i64 {
    read(libc::CLOCK_REALTIME).wrapping_sub(boottime()) as i64
}

/// A time of the axis in ms of `SystemClock.uptimeMillis`, which stands still while the device sleeps.
pub fn uptime_ms(at: u64) -> u64 {
    at.saturating_add_signed(ahead().saturating_neg()) / 1_000_000
}

#[inline]
fn read(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `now` is a valid timespec; clock_gettime writes nothing else. It cannot fail for these
    // clocks (Linux 2.6.39); if it did, `now` stays zero and the writer clamps it.
    unsafe { libc::clock_gettime(clock, &mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_to_the_axis_and_come_back_the_same_and_are_near_the_clock() {
        for _ in 0..10_000 {
            assert_eq!(to_monotonic(of_monotonic(1_000_000_000)), 1_000_000_000);
        }
        let before = read(libc::CLOCK_MONOTONIC);
        let axis = of_monotonic(before);
        // NOISE, and the reads themselves.
        assert!(axis <= boottime() + 2 * NOISE, "a past time is in the future");
    }
}
