//! A gate through which any thread can revoke Java's fast path.
//!
//! In coarse mode `MethodBeat` writes methods' words itself and keeps the position in a field of its own.
//! Before each word it checks its thread's gate. While the gate is closed, the event goes to the native writer,
//! which reclaims the right to write and opens the gate again when it may. Java reads these fields at fixed
//! offsets.
//!
//! ```text
//!  0  8  since: ns that the block has been open, refreshed by the ticker: main's time. Closed: negative
//!  8  8  t0: of the open block, for all others, who take it from the time word. Closed: leaves more than 42 bits
//! ```
//! # Why no thread writes for long after its gate was closed
//! A thread that stops the writers first stores the cause (the time word, the file) and then closes the gate. The
//! owner opens the gate first and then loads the cause. Both have a SeqCst fence in between (Dekker's
//! argument). So either the owner sees the cause and closes the gate itself, or the closing comes after the
//! opening. A Java writer that is preempted between its check of the gate and its store stores one more word,
//! and no second one: a thread that copies words meanwhile checks again.
//! # Why main's time is never computed from another block's t0
//! The ticker sets `ticking` before it loads `since` and `t0`. The owner changes `t0` while `since` is closed,
//! and opens that only if `ticking` is not set: then every later load of the ticker finds the new t0. If the
//! ticker is inside, this event and the next go to the native writer. Neither waits.
//! # Why the block of a silent thread can be taken
//! The native writer sets `inside` before it loads `asked`, and clears it when it is done ([`Gate::enter`]).
//! The pool sets [`CLAIM`] in `asked` and loads `inside` later. So either the writer sees the request and asks
//! the pool, under its lock, whether the block is still its own; or the pool sees that the writer is inside and
//! leaves the block alone.
//!
//! The argument needs the writer's store of `inside` to be visible before its load of `asked`. On the hot path
//! that would cost a fence as expensive as the event. The pool pays instead: it checks a grace period after its
//! request. A thread that was running then has drained its store buffer long since, and one that was not has
//! been switched out, which is a full barrier.
//!
//! A Java writer sets nothing. After the request it stores no more than one word, and the place of that word is
//! known: [`crate::memory::stale`].

use crate::sync::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use crate::sync::{AtomicBool, AtomicU32, AtomicU64, fence, order};

/// Stands in both fields of a closed gate.
pub(crate) const CLOSED: u64 = 1 << 63;

/// The owner is asked to migrate its block to the file.
pub(crate) const MIGRATE: u32 = 1;
/// The owner's block may be given to another thread: the owner must ask for it before it writes.
pub(crate) const CLAIM: u32 = 2;
/// The end of a call or wait was lost, perhaps the owner's: the owner records it before it writes.
pub(crate) const LOST_END: u32 = 4;

/// The gate of one thread. Never freed while the thread lives: Java and other threads have its address.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Gate {
    pub(crate) since: AtomicU64,
    pub(crate) t0: AtomicU64,
    /// Requests to the owner, to be met before it writes: [`MIGRATE`], [`CLAIM`], [`LOST_END`].
    pub(crate) asked: AtomicU32,
    /// The ticker is inside.
    pub(crate) ticking: AtomicBool,
    /// The owner's native writer is inside.
    pub(crate) inside: AtomicBool,
    /// Java's fast path is granted. Stored while the owner is inside.
    pub(crate) granted: AtomicBool,
}

impl Gate {
    /// A closed gate.
    pub(crate) fn new() -> Self {
        Self {
            since: AtomicU64::new(CLOSED),
            t0: AtomicU64::new(CLOSED),
            asked: AtomicU32::new(0),
            ticking: AtomicBool::new(false),
            inside: AtomicBool::new(false),
            granted: AtomicBool::new(false),
        }
    }

    /// Opens the gate for a block that was opened at `t0` and `since` ns ago; for the owner alone. Returns whether it is open.
    pub(crate) fn open(&self, t0: u64, since: u64) -> bool {
        self.t0.store(t0, Release);
        fence(SeqCst);
        if self.ticking.load(Acquire) {
            self.t0.store(CLOSED, Release);
            return false;
        }
        self.since.store(since, Release);
        // Before this load, and the caller's load of the time word.
        fence(SeqCst);
        if self.asked.load(Acquire) != 0 {
            self.close();
            return false;
        }
        true
    }

    /// Makes `since` the least time of Java's next event, ns after t0; for the owner alone, whose own event had that time. The
    /// ticker may come by meanwhile. Returns whether the gate is open.
    #[inline]
    pub(crate) fn advance(&self, since: u64) -> bool {
        let mut before = self.since.load(Acquire);
        while before < since {
            match self.since.compare_exchange_weak(before, since, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(other) => before = other,
            }
        }
        before < CLOSED
    }

    /// Closes the gate, from any thread: the next event goes to the native writer.
    pub(crate) fn close(&self) {
        fence(SeqCst);
        self.since.swap(CLOSED, AcqRel);
        self.t0.swap(CLOSED, AcqRel);
    }

    /// Requests `what` of the owner before it writes again, from any thread. For [`MIGRATE`] the file must be known.
    pub(crate) fn ask(&self, what: u32) {
        self.asked.fetch_or(what, AcqRel);
        self.close();
    }

    /// Whether there is a request; for the owner.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Relaxed) != 0
    }

    /// Whether this is requested; for the owner.
    #[inline]
    pub(crate) fn is_asked_to(&self, what: u32) -> bool {
        self.asked.load(Relaxed) & what != 0
    }

    /// Removes a request that the owner has met.
    pub(crate) fn answer(&self, what: u32) {
        self.asked.fetch_and(!what, Release);
    }

    /// The owner's native writer starts to use its block.
    #[inline]
    pub(crate) fn enter(&self) {
        self.inside.store(true, Relaxed);
        order();
    }

    /// The owner's native writer is done with its block.
    #[inline]
    pub(crate) fn leave(&self) {
        self.inside.store(false, Release);
    }

    /// The pool's, a time of grace after [`CLAIM`]: whether the owner has not come since, and will ask when it does. What
    /// it wrote before is visible then.
    pub(crate) fn is_claimed(&self) -> bool {
        fence(SeqCst);
        !self.inside.load(Acquire) && self.asked.load(Acquire) & CLAIM != 0
    }

    /// The ticker's: `time` is the time of events from here on, BOOTTIME ns. Only greater ones are stored, none of
    /// `room` ns or more behind t0.
    pub(crate) fn tick(&self, time: u64, room: u64) {
        self.ticking.store(true, Relaxed);
        fence(SeqCst);
        let (before, t0) = (self.since.load(Acquire), self.t0.load(Acquire));
        let since = time.saturating_sub(t0);
        if before < CLOSED && t0 != CLOSED && since > before {
            // A wrong time must not spill into the other bits of a word.
            let since = if since < room { since } else { CLOSED };
            let _ = self.since.compare_exchange(before, since, AcqRel, Relaxed);
        }
        self.ticking.store(false, Release);
    }
}
