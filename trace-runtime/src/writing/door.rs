//! What stands between a thread's writer in Java and everybody who may have to stop it.
//!
//! In coarse mode `MethodBeat` writes methods' words itself and keeps the position, where nobody else sees it. Before
//! each of them it looks at its thread's door: while that is closed, the event goes to the native writer, which takes
//! the pen back, and opens the door again when it may. Java finds these fields at their very offsets.
//!
//! ```text
//!  0  8  since: ns that the block has been open, refreshed by the ticker: main's time. Closed: negative
//!  8  8  t0: of the open block, for all others, who take it from the time word. Closed: leaves more than 42 bits
//! ```
//! # Why nobody writes for long after the door was closed
//! Whoever stops the writers first stores the cause (the time word, the file) and then closes the door. The owner opens
//! it first and then looks at the cause. Both have a SeqCst fence in between (Dekker's argument), so either the owner sees
//! the cause, and closes the door itself, or the closing comes behind the opening. A writer in Java that was stopped between its look
//! at the door and its store stores one more word, and no second one: where words are copied from meanwhile, whoever
//! copies looks again.
//!
//! # Why main's time is never told from another block's t0
//! The ticker says that it is inside before it looks at `since` and `t0`. The owner changes `t0` while `since` is closed,
//! and opens that only if the ticker is not inside: then every look of the ticker comes later and finds the new t0. If
//! the ticker is inside, the event goes to the native writer, and so does the next. Nobody waits.

use super::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use super::atomic::{AtomicBool, AtomicU64, fence};

/// In place of both numbers.
pub(crate) const CLOSED: u64 = 1 << 63;

/// A thread's. Never freed: Java has its address, and so have others than its thread.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Door {
    pub(crate) since: AtomicU64,
    pub(crate) t0: AtomicU64,
    /// The owner is to take its block along to the file.
    pub(crate) asked: AtomicBool,
    /// The ticker is inside.
    pub(crate) ticking: AtomicBool,
}

impl Door {
    /// A closed one.
    pub(crate) fn new() -> Self {
        Self {
            since: AtomicU64::new(CLOSED),
            t0: AtomicU64::new(CLOSED),
            asked: AtomicBool::new(false),
            ticking: AtomicBool::new(false),
        }
    }

    /// The owner's: Java may write, to a block that was opened at `t0` and `since` ns ago. Gives whether it may.
    pub(crate) fn open(&self, t0: u64, since: u64) -> bool {
        self.t0.store(t0, Release);
        fence(SeqCst);
        if self.ticking.load(Acquire) {
            self.t0.store(CLOSED, Release);
            return false;
        }
        self.since.store(since, Release);
        // Before this look, and the one at the time word that the caller takes.
        fence(SeqCst);
        if self.asked.load(Acquire) {
            self.close();
            return false;
        }
        true
    }

    /// Anybody's: the next event goes to the native writer.
    pub(crate) fn close(&self) {
        fence(SeqCst);
        self.since.swap(CLOSED, AcqRel);
        self.t0.swap(CLOSED, AcqRel);
    }

    /// Asks the owner to take its block along to the file, which must be known.
    pub(crate) fn ask(&self) {
        self.asked.store(true, Release);
        self.close();
    }

    /// The owner's.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }

    /// The owner has done what it was asked for. It is asked once, after the file became known.
    pub(crate) fn answer(&self) {
        self.asked.store(false, Release);
    }

    /// The ticker's: `time` is the time of events from here on, BOOTTIME ns. Only greater ones are stored, none of
    /// `room` ns or more behind t0.
    pub(crate) fn tick(&self, time: u64, room: u64) {
        self.ticking.store(true, Relaxed);
        fence(SeqCst);
        let (before, t0) = (self.since.load(Acquire), self.t0.load(Acquire));
        let since = time.saturating_sub(t0);
        if before < CLOSED && t0 != CLOSED && since > before {
            // A fault of the time is no reason to write into the other bits of a word.
            let since = if since < room { since } else { CLOSED };
            let _ = self.since.compare_exchange(before, since, AcqRel, Relaxed);
        }
        self.ticking.store(false, Release);
    }
}
