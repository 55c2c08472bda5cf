//! Coarse time of the process: its time word, and how the [ticker](crate::ticker) that keeps it fresh is woken.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::Thread;

use crate::gate::{self, Gate};
use crate::time::clock;
use crate::time::fold;
use crate::time::time_word::{CLOSED, Pace, READ_CLOCK, TimeWord};

/// The process's time word.
pub(crate) static TIME: TimeWord = TimeWord {
    word: AtomicU64::new(0),
    high: AtomicU64::new(0),
    fold_main: AtomicU64::new(fold::NOTHING),
    fold_others: AtomicU64::new(fold::NOTHING),
    pace: AtomicU32::new(0),
    asleep: AtomicBool::new(false),
};

/// The recorded main thread's gate.
pub(crate) static MAIN_GATE: Gate = Gate {
    since: AtomicU64::new(gate::CLOSED),
    t0: AtomicU64::new(gate::CLOSED),
    asked: AtomicU32::new(0),
    ticking: AtomicBool::new(false),
    inside: AtomicBool::new(false),
    lent: AtomicBool::new(false),
};

/// The ticker.
static THREAD: OnceLock<Thread> = OnceLock::new();
/// A message of main has ended: perhaps nobody records any more.
static LEASE_OVER: AtomicBool = AtomicBool::new(false);

/// Where the time word is, which compiled Java code reads.
#[must_use]
pub fn word_address() -> usize {
    TIME.word.as_ptr() as usize
}

/// Where main's gate is, which compiled Java code reads.
#[must_use]
pub fn main_gate_address() -> usize {
    std::ptr::from_ref(&MAIN_GATE) as usize
}

/// An event comes while the time word is closed, or in coarse mode one that is worth an exact time: its pace and
/// time. `last` is the thread's last time.
pub(crate) fn open(last: u64) -> (Pace, u64) {
    TIME.open(clock::boottime().max(last), wake)
}

/// Whether methods may be written with the time word's time, or with main's.
pub(crate) fn is_coarse_and_open() -> bool {
    let word = TIME.word.load(Ordering::SeqCst);
    word != CLOSED && word != READ_CLOCK
}

/// Changes the pace from each thread's next event on.
pub(crate) fn set_pace(pace: Pace) {
    TIME.set_pace(pace);
    // The others look at the word.
    MAIN_GATE.close();
}

/// Main is between two messages.
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

/// Whether a message of main has ended since this was asked last.
pub(crate) fn has_message_ended() -> bool {
    LEASE_OVER.swap(false, Ordering::Relaxed)
}

/// This thread is the ticker, the only one.
pub(crate) fn keep_awake(ticker: Thread) {
    let _ = THREAD.set(ticker);
}
