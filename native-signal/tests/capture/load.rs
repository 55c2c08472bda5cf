//! Threads that compute, allocate, fork, read, sleep and hold locks, each with a result that does not depend on time.

use crate::support::{Running, capture, slot, start};
use native_signal::capture::{Reason, Refusal, Taken};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use trace_format::native_slot::flags;

/// What a thread has done: rounds, and how many of them gave a wrong result.
pub(crate) type Done = (u64, u64);

fn mix(mut value: u64) -> u64 {
    for _ in 0..2_000 {
        value = value.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23) ^ 0x5bf0_3635;
    }
    value
}

/// Floating point beside integers: a handler that spoiled a vector register would show.
fn float(seed: u64) -> f64 {
    (0..400).fold((seed % 1000) as f64, |value, step| (value * 1.000_1 + f64::from(step)).sqrt() * 7.25)
}

fn compute(round: u64) -> bool {
    let seed = round % 16;
    static EXPECTED: Mutex<BTreeMap<u64, (u64, u64)>> = Mutex::new(BTreeMap::new());
    let result = (mix(seed), float(seed).to_bits());
    *EXPECTED.lock().unwrap().entry(seed).or_insert(result) == result
}

fn allocate(round: u64) -> bool {
    let mut kept = Vec::new();
    for size in 1..60u64 {
        kept.push(vec![size as u8; (size * (round % 7 + 1) * 13) as usize]);
        if size % 3 == 0 {
            kept.remove((round % kept.len() as u64) as usize);
        }
    }
    kept.iter().all(|bytes| bytes.iter().all(|&byte| byte == bytes[0]))
}

fn fork(round: u64) -> bool {
    if !round.is_multiple_of(8) {
        std::thread::sleep(Duration::from_millis(1));
        return true;
    }
    // SAFETY: the child only computes and leaves.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let right = mix(std::hint::black_box(round % 16)) == mix(std::hint::black_box(round % 16));
        // SAFETY: ends the child without running anything of the parent.
        unsafe { libc::_exit(if right { 7 } else { 8 }) };
    }
    assert!(child > 0);
    let mut status = 0;
    // SAFETY: our child, a live place for its status.
    let waited = unsafe { libc::waitpid(child, &mut status, 0) };
    waited == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7
}

fn sleep(_round: u64) -> bool {
    let length = Duration::from_micros(1_500);
    let time = libc::timespec { tv_sec: 0, tv_nsec: length.as_nanos() as _ };
    let begun = Instant::now();
    // SAFETY: a live timespec, and no place for the rest.
    let slept = unsafe { libc::nanosleep(&time, std::ptr::null_mut()) };
    slept == 0 && begun.elapsed() >= length
}

fn poll(_round: u64) -> bool {
    let begun = Instant::now();
    // SAFETY: no descriptors.
    let polled = unsafe { libc::poll(std::ptr::null_mut(), 0, 2) };
    polled == 0 && begun.elapsed() >= Duration::from_millis(2)
}

static SHARED: Mutex<(u64, u64)> = Mutex::new((0, 0));

fn lock(round: u64) -> bool {
    let mut shared = SHARED.lock().unwrap();
    shared.0 += round;
    let so_far = shared.0;
    std::hint::black_box(mix(round % 4));
    shared.1 = shared.1.wrapping_add(round);
    shared.0 == so_far && shared.0 == shared.1
}

/// A thread that does a round after the other.
fn rounds(mut round: impl FnMut(u64) -> bool + Send + 'static) -> Running<Done> {
    start(move |stop| {
        let (mut done, mut wrong) = (0, 0);
        while !stop.load(Ordering::Acquire) {
            wrong += u64::from(!round(done));
            done += 1;
        }
        (done, wrong)
    })
}

/// A thread that reads what another writes into a pipe, some bytes at a time.
fn reader() -> Running<Done> {
    let (mut from, mut to) = std::io::pipe().unwrap();
    static WRITTEN: AtomicU64 = AtomicU64::new(0);
    let writer = rounds(move |round| {
        std::thread::sleep(Duration::from_micros(300));
        to.write_all(&[round as u8; 3]).is_ok() && WRITTEN.fetch_add(3, Ordering::Relaxed) < u64::MAX
    });
    let mut expected = 0u64;
    let mut writer = Some(writer);
    start(move |stop| {
        let (mut done, mut wrong) = (0, 0);
        let mut bytes = [0; 64];
        loop {
            if stop.load(Ordering::Acquire)
                && let Some(writer) = writer.take()
            {
                // Closes the pipe.
                wrong += writer.stop().1;
            }
            let read = match from.read(&mut bytes) {
                Ok(0) => break,
                Ok(read) => read,
                Err(_) => {
                    wrong += 1;
                    break;
                }
            };
            for byte in &bytes[..read] {
                wrong += u64::from(*byte != (expected / 3) as u8);
                expected += 1;
            }
            done += 1;
        }
        (done, wrong + u64::from(expected != WRITTEN.load(Ordering::Relaxed)))
    })
}

/// Captures these threads in turn until so many handlers have run; prints what happened, and returns whether every result was right.
pub(crate) fn run(signals: u64) -> bool {
    let threads: [(&str, Running<Done>); 9] = [
        ("reads a pipe", reader()),
        ("computes", rounds(compute)),
        ("allocates", rounds(allocate)),
        ("forks", rounds(fork)),
        ("sleeps", rounds(sleep)),
        ("polls", rounds(poll)),
        ("locks", rounds(lock)),
        ("locks too", rounds(lock)),
        ("allocates too", rounds(allocate)),
    ];
    let (one, other) = (slot(), slot());
    let mut counts: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    let (mut by_signal, mut turn) = (0, 0u64);
    let begun = Instant::now();
    while by_signal < signals {
        // A reader that blocks is captured more often than the others.
        let at = if turn % 8 < 5 { 0 } else { (turn / 8 * 3 + turn % 8 - 5) as usize % threads.len() };
        let (name, thread) = &threads[at];
        let slot = if turn % 2 == 0 { &one } else { &other };
        let count = counts.entry(name).or_default();
        match capture().take(thread.tid as u32, Reason::Stall, slot) {
            Ok(taken) => {
                let stack = slot.stack().expect("a capture is valid");
                assert_eq!(stack.flags & (flags::FOREIGN_STACK | flags::IN_HANDLER), 0);
                assert!(stack.stack.len() > 100 && stack.sp < stack.stack_end);
                by_signal += u64::from(taken == Taken::BySignal);
                count[usize::from(taken == Taken::WithoutSignal)] += 1;
                slot.free();
            }
            Err(refusal) => {
                assert!(matches!(refusal, Refusal::TimedOut | Refusal::Blocked | Refusal::Busy), "{refusal}");
                *refused.entry(refusal.to_string()).or_default() += 1;
                count[2] += 1;
            }
        }
        turn += 1;
    }
    println!("{by_signal} signals in {:.1} s; refused: {refused:?}", begun.elapsed().as_secs_f64());
    let mut all_right = true;
    for (name, thread) in threads {
        let (done, wrong) = thread.stop();
        let [signalled, outside, none] = counts.get(name).copied().unwrap_or_default();
        println!(
            "  {name:14} {done:9} rounds, {wrong} wrong; {signalled} by signal, {outside} without, {none} refused"
        );
        all_right &= wrong == 0 && done > 0;
    }
    all_right
}
