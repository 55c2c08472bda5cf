//! Coarse time of the process: its time word, and how the ticker that keeps it fresh is woken.

use std::sync::OnceLock;
use std::sync::atomic;
use std::thread::Thread;

use crate::gate::{self, Gate};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering, static_of_atomics};
use crate::time::time_word::{CLOSED, FOLD_NOTHING, Pace, READ_CLOCK, TimeWord};
use crate::time::{self, clock};

static_of_atomics! {
    /// The process's time word.
    TIME: TimeWord = TimeWord {
        word: AtomicU64::new(0),
        high: AtomicU64::new(0),
        fold_main: AtomicU64::new(FOLD_NOTHING),
        fold_others: AtomicU64::new(FOLD_NOTHING),
        pace: AtomicU32::new(0),
        sleeping: AtomicBool::new(false),
    }
}

static_of_atomics! {
    /// The recorded main thread's gate.
    MAIN_GATE: Gate = Gate {
        since: AtomicU64::new(gate::CLOSED),
        t0: AtomicU64::new(gate::CLOSED),
        asked: AtomicU32::new(0),
        ticking: AtomicBool::new(false),
        inside: AtomicBool::new(false),
        granted: AtomicBool::new(false),
    }
}

/// The ticker's thread.
static THREAD: OnceLock<Thread> = OnceLock::new();
/// A message of main has ended: perhaps no thread records any more.
static LEASE_OVER: atomic::AtomicBool = atomic::AtomicBool::new(false);

/// The address of the time word, which compiled Java code reads.
#[must_use]
pub fn word_address() -> usize {
    std::ptr::from_ref(&TIME.word) as usize
}

/// The address of main's gate, which compiled Java code reads.
#[must_use]
pub fn main_gate_address() -> usize {
    std::ptr::from_ref(&MAIN_GATE) as usize
}

/// Opens the time word for an event, if it is closed or the event needs an exact time in coarse mode. Returns
/// the event's pace and time. `last` is the thread's last time.
#[inline]
pub(crate) fn open(last: u64) -> (Pace, u64) {
    TIME.open(exact_now().max(last), wake)
}

/// A tick that is older than this is late: then the cycle counter's scale may be out of date, too.
const MAX_SINCE_TICK: u64 = 10_000_000;

/// The exact time. The counter is compared with the clock while the ticker runs, so it is used if it agrees with the last tick.
#[inline]
fn exact_now() -> u64 {
    let tick = TIME.word.load(Ordering::Relaxed);
    let now = time::now();
    if now.wrapping_sub(tick) <= MAX_SINCE_TICK { now } else { clock::boottime() }
}

/// Whether methods may be written with the time word's time, or with main's.
pub(crate) fn is_coarse_and_open() -> bool {
    let word = TIME.word.load(Ordering::SeqCst);
    word != CLOSED && word != READ_CLOCK
}

/// Changes the pace from each thread's next event on.
pub(crate) fn set_pace(pace: Pace) {
    TIME.set_pace(pace);
    // The other threads read the word.
    MAIN_GATE.close();
}

/// Notes that main is between two messages.
#[inline]
pub fn message_ended() {
    LEASE_OVER.store(true, Ordering::Relaxed);
}

/// Wakes the ticker. One futex call, and only if it sleeps.
#[cold]
pub(crate) fn wake() {
    if let Some(thread) = THREAD.get() {
        thread.unpark();
    }
}

/// Whether a message of main has ended since the last call.
pub(crate) fn has_message_ended() -> bool {
    LEASE_OVER.swap(false, Ordering::Relaxed)
}

/// Makes `ticker` the thread that [`wake`] wakes.
pub(crate) fn set_ticker(ticker: Thread) {
    let _ = THREAD.set(ticker);
}
