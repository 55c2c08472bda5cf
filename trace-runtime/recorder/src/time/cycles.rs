//! The CPU's cycle counter as a clock: CLOCK_BOOTTIME without a call of the vDSO.
//!
//! x86-64 with an invariant time stamp counter (CPUID 8000_0007h, EDX bit 8: AMD APM vol. 3 and Intel SDM vol. 2A)
//! and AArch64 (CNTVCT_EL0) have one that all CPUs share. A scale maps its ticks to nanoseconds. It is
//! measured, not assumed: [`Calibrator::check`] compares it with the clock again and again, adjusts the scale
//! so that the two meet again, and abandons the counter if it jumps. Everywhere else, and from then on, the
//! vDSO is read.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use crate::time::clock;

/// A deviation of more than this is a step and not drift: 100 µs in the at most 100 ms between two checks would be
/// 1,000 ppm, twice what the kernel ever slews a clock by (500 ppm, `adjtimex`).
const STEP_NS: u64 = 100_000;
/// Steps that the clock itself does not explain, until the counter is abandoned.
const MAX_STEPS: u32 = 3;
/// Two clock reads with this many ns or more between them were interrupted, and make no pair.
const PAIR_NS: u64 = 2_000;
/// The rate is measured over at least this long once there has been time for it.
const ANCHOR_NS: u64 = 10_000_000_000;

/// Maps ticks to ns: `ns + (ticks - self.ticks) * rate / 2^32`.
struct Scale {
    /// 0 while the counter is not used, odd while the rest is being written.
    sequence: AtomicU32,
    ticks: AtomicU64,
    ns: AtomicU64,
    rate: AtomicU64,
}

static SCALE: Scale = Scale {
    sequence: AtomicU32::new(0),
    ticks: AtomicU64::new(0),
    ns: AtomicU64::new(0),
    rate: AtomicU64::new(0),
};

/// The time by the counter, CLOCK_BOOTTIME ns; `None` where the vDSO has to be read.
#[inline]
pub(crate) fn now() -> Option<u64> {
    let sequence = SCALE.sequence.load(Ordering::Acquire);
    let base = SCALE.ticks.load(Ordering::Relaxed);
    let ns = SCALE.ns.load(Ordering::Relaxed);
    let rate = SCALE.rate.load(Ordering::Relaxed);
    fence(Ordering::Acquire);
    if sequence == 0 || sequence & 1 == 1 || SCALE.sequence.load(Ordering::Relaxed) != sequence {
        return None;
    }
    Some(scaled(counter::read(), base, ns, rate))
}

#[inline]
fn scaled(ticks: u64, base: u64, ns: u64, rate: u64) -> u64 {
    // A read that the CPU has moved before the scale's own may be before its base.
    let since = (ticks.wrapping_sub(base) as i64).max(0) as u64;
    ns.wrapping_add(((u128::from(since) * u128::from(rate)) >> 32) as u64)
}

fn publish(ticks: u64, ns: u64, rate: u64) {
    let sequence = SCALE.sequence.load(Ordering::Relaxed);
    SCALE.sequence.store(sequence | 1, Ordering::Relaxed);
    fence(Ordering::Release);
    SCALE.ticks.store(ticks, Ordering::Relaxed);
    SCALE.ns.store(ns, Ordering::Relaxed);
    SCALE.rate.store(rate, Ordering::Relaxed);
    // Never 0 again by wrapping: 2^31 checks at 100 ms are seven years.
    SCALE.sequence.store((sequence | 1).wrapping_add(1), Ordering::Release);
}

fn withdraw() {
    SCALE.sequence.store(0, Ordering::Release);
}

/// Compares the counter with the clock. One a process, on the ticker's thread.
#[derive(Debug, Default)]
pub(crate) struct Calibrator {
    state: State,
    steps: u32,
}

#[derive(Debug, Default)]
enum State {
    /// Not read yet.
    #[default]
    New,
    /// One pair taken, no rate yet.
    Paired(Pair),
    Running {
        /// The rate is measured from here.
        anchor: Pair,
        /// BOOTTIME − MONOTONIC at the last check.
        ahead: i64,
    },
    GivenUp,
}

/// A reading of the counter and the time at which it was taken.
#[derive(Clone, Copy, Debug)]
struct Pair {
    ticks: u64,
    ns: u64,
}

/// What a check found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Finding {
    /// Nothing to report.
    Fine,
    /// The counter cannot be used here, for this reason.
    Unusable(&'static str),
    /// The counter was abandoned after it had jumped by this many ns.
    Jumped(i64),
}

impl Calibrator {
    /// Compares the counter with the clock. The first two calls, 5 ms or more apart, bring it into use.
    pub(crate) fn check(&mut self) -> Finding {
        match self.state {
            State::GivenUp => Finding::Fine,
            State::New => {
                if let Some(reason) = counter::unusable() {
                    return self.give_up(Finding::Unusable(reason));
                }
                if !is_cheaper() {
                    return self.give_up(Finding::Unusable("reading it takes as long as reading the clock"));
                }
                if let Some(pair) = pair() {
                    self.state = State::Paired(pair);
                }
                Finding::Fine
            }
            State::Paired(anchor) => {
                let Some(pair) = pair() else { return Finding::Fine };
                match rate(anchor, pair) {
                    Some(rate) => {
                        publish(pair.ticks, pair.ns, rate);
                        self.state = State::Running { anchor, ahead: clock::ahead() };
                    }
                    None => self.state = State::Paired(pair),
                }
                Finding::Fine
            }
            State::Running { anchor, ahead } => self.compare(anchor, ahead),
        }
    }

    fn compare(&mut self, anchor: Pair, ahead: i64) -> Finding {
        let Some(pair) = pair() else { return Finding::Fine };
        let (base, ns, old) = (
            SCALE.ticks.load(Ordering::Relaxed),
            SCALE.ns.load(Ordering::Relaxed),
            SCALE.rate.load(Ordering::Relaxed),
        );
        let predicted = scaled(pair.ticks, base, ns, old);
        let deviation = pair.ns.wrapping_sub(predicted) as i64;
        let now_ahead = clock::ahead();
        if deviation.unsigned_abs() > STEP_NS {
            // The counter may stand still in deep sleep while BOOTTIME goes on.
            let slept = now_ahead.abs_diff(ahead) > clock::NOISE;
            // The same holds for a long idle stretch without checks.
            let unchecked = pair.ns.saturating_sub(ns) > 10 * u64::from(clock::CHECK_MS) * 1_000_000;
            self.steps += u32::from(!slept && !unchecked);
            if self.steps >= MAX_STEPS {
                return self.give_up(Finding::Jumped(deviation));
            }
            publish(pair.ticks, pair.ns, old);
            self.state = State::Running { anchor: pair, ahead: now_ahead };
            return Finding::Fine;
        }
        let Some(rate) = rate(anchor, pair) else { return Finding::Fine };
        // Adjusted so that half of the deviation is gone after a second.
        let bend = (i128::from(rate) * i128::from(deviation) / 2_000_000_000) as i64;
        publish(pair.ticks, predicted, rate.saturating_add_signed(bend));
        let old_anchor = pair.ns.saturating_sub(anchor.ns) > ANCHOR_NS;
        self.state = State::Running {
            anchor: if old_anchor { pair_before(anchor, pair) } else { anchor },
            ahead: now_ahead,
        };
        Finding::Fine
    }

    fn give_up(&mut self, finding: Finding) -> Finding {
        withdraw();
        self.state = State::GivenUp;
        finding
    }
}

/// Halves the anchor's age: the rate follows what the kernel does to the clock, over seconds and not for
/// ever.
fn pair_before(anchor: Pair, pair: Pair) -> Pair {
    Pair {
        ticks: anchor.ticks.wrapping_add(pair.ticks.wrapping_sub(anchor.ticks) / 2),
        ns: anchor.ns + (pair.ns - anchor.ns) / 2,
    }
}

/// ns per tick, times 2^32; `None` over less than 5 ms, or for a rate that no counter has (1 MHz to 64 GHz).
fn rate(from: Pair, to: Pair) -> Option<u64> {
    let (ticks, ns) = (to.ticks.wrapping_sub(from.ticks), to.ns.checked_sub(from.ns)?);
    if ns < 5_000_000 || ticks == 0 {
        return None;
    }
    let rate = u64::try_from((u128::from(ns) << 32) / u128::from(ticks)).ok()?;
    ((1 << 26)..(1000 << 32)).contains(&rate).then_some(rate)
}

/// The counter between two readings of the clock, the closest of a few.
fn pair() -> Option<Pair> {
    let once = || {
        let before = clock::boottime();
        let ticks = counter::read();
        let after = clock::boottime();
        (after.saturating_sub(before), Pair { ticks, ns: before + after.saturating_sub(before) / 2 })
    };
    let (width, pair) = (0..8).map(|_| once()).min_by_key(|(width, _)| *width)?;
    (width < PAIR_NS).then_some(pair)
}

/// Whether reading the counter is cheaper: a hypervisor or an erratum's workaround may trap it.
fn is_cheaper() -> bool {
    let time = |read: fn() -> u64| {
        (0..5)
            .map(|_| {
                let begin = clock::boottime();
                let mut sum = 0_u64;
                for _ in 0..200 {
                    sum = sum.wrapping_add(read());
                }
                std::hint::black_box(sum);
                clock::boottime() - begin
            })
            .min()
            .unwrap_or(0)
    };
    time(counter::read) * 5 < time(clock::boottime) * 4
}

#[cfg(target_arch = "x86_64")]
mod counter {
    use std::arch::x86_64::{__cpuid, _rdtsc};

    #[inline]
    pub(super) fn read() -> u64 {
        // SAFETY: every x86-64 has the instruction, and Linux lets user code use it; where a process has been
        // denied it (PR_SET_TSC) the JVM and the vDSO would fault as well.
        unsafe { _rdtsc() }
    }

    pub(super) fn unusable() -> Option<&'static str> {
        const INVARIANT: u32 = 1 << 8;
        // The greatest extended leaf first: a CPU may lack the leaf in question.
        if __cpuid(0x8000_0000).eax < 0x8000_0007 || __cpuid(0x8000_0007).edx & INVARIANT == 0 {
            return Some("the time stamp counter is not invariant");
        }
        None
    }
}

#[cfg(target_arch = "aarch64")]
mod counter {
    #[inline]
    pub(super) fn read() -> u64 {
        let ticks: u64;
        // SAFETY: reads a register that Linux lets user code read (the vDSO does); where an erratum makes the kernel
        // forbid it, it answers the trap itself, slowly, which the comparison with the clock's cost finds.
        unsafe {
            std::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack, preserves_flags))
        };
        ticks
    }

    pub(super) fn unusable() -> Option<&'static str> {
        None
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod counter {
    pub(super) fn read() -> u64 {
        0
    }

    pub(super) fn unusable() -> Option<&'static str> {
        Some("this CPU has no cycle counter that user code may read")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_scale_counts_on_from_its_base_and_never_before_it() {
        // 3 ticks a ns.
        let rate = (1 << 32) / 3;
        assert_eq!(scaled(1_000, 1_000, 77, rate), 77);
        assert_eq!(scaled(999, 1_000, 77, rate), 77);
        assert_eq!(scaled(4_001, 1_000, 77, rate), 77 + 1_000);
        // An hour at 3 GHz.
        let hour = 3_600_000_000_000_u64;
        assert!(hour - scaled(3 * hour, 0, 0, rate) < 2_000);
    }

    #[test]
    fn rates_of_no_counter_are_refused() {
        let pair = |ticks, ns| Pair { ticks, ns };
        assert_eq!(rate(pair(0, 0), pair(10_000_000, 10_000_000)), Some(1 << 32));
        assert_eq!(rate(pair(0, 0), pair(10, 1_000)), None, "too short");
        assert_eq!(rate(pair(5, 0), pair(5, 10_000_000)), None, "it stands still");
        assert_eq!(rate(pair(0, 0), pair(10, 10_000_000)), None, "too slow");
        assert_eq!(rate(pair(0, 9_000_000), pair(10, 0)), None, "the clock ran back");
    }

    /// There is one scale a process: these take turns.
    #[test]
    fn the_counter_follows_the_clock_and_is_abandoned_when_it_jumps() {
        once_calibrated_it_stays_by_the_clock();
        withdraw();
        a_counter_that_jumps_is_given_up_after_the_third_time();
    }

    fn once_calibrated_it_stays_by_the_clock() {
        let mut calibrator = Calibrator::default();
        let first = calibrator.check();
        if let Finding::Unusable(reason) = first {
            assert_eq!(now(), None, "{reason}");
            return;
        }
        for _ in 0..20 {
            std::thread::sleep(Duration::from_millis(12));
            assert_eq!(calibrator.check(), Finding::Fine);
        }
        let (before, counted, after) = (clock::boottime(), now(), clock::boottime());
        // 12 ms at a rate measured over 10 ms: well under a step.
        let counted = counted.expect("in use after two checks");
        assert!(counted + STEP_NS > before && counted < after + STEP_NS, "{before} {counted} {after}");
    }

    fn a_counter_that_jumps_is_given_up_after_the_third_time() {
        let mut calibrator = Calibrator::default();
        if calibrator.check() != Finding::Fine {
            return;
        }
        let mut findings = Vec::new();
        for _ in 0..12 {
            std::thread::sleep(Duration::from_millis(6));
            if matches!(calibrator.state, State::Running { .. }) {
                // As if it had run on by a millisecond.
                SCALE.ns.fetch_add(1_000_000, Ordering::Relaxed);
            }
            findings.push(calibrator.check());
        }
        let jumps: Vec<_> = findings.iter().filter(|f| **f != Finding::Fine).collect();
        let [Finding::Jumped(by)] = jumps[..] else { panic!("{findings:?}") };
        assert!((-1_200_000..-800_000).contains(by), "{by}");
        assert_eq!(now(), None);
    }
}
