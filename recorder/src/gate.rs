//! What stands between a thread's writer in Java and everybody who may have to stop it.
//!
//! In coarse mode `MethodBeat` writes methods' words itself and keeps the position, where nobody else sees it. Before
//! each of them it looks at its thread's gate: while that is closed, the event goes to the native writer, which takes
//! the pen back, and opens the gate again when it may. Java finds these fields at their very offsets.
//!
//! ```text
//!  0  8  since: ns that the block has been open, refreshed by the ticker: main's time. Closed: negative
//!  8  8  t0: of the open block, for all others, who take it from the time word. Closed: leaves more than 42 bits
//! ```
//! # Why nobody writes for long after the gate was closed
//! Whoever stops the writers first stores the cause (the time word, the file) and then closes the gate. The owner opens
//! it first and then looks at the cause. Both have a SeqCst fence in between (Dekker's argument), so either the owner sees
//! the cause, and closes the gate itself, or the closing comes behind the opening. A writer in Java that was stopped between its look
//! at the gate and its store stores one more word, and no second one: where words are copied from meanwhile, whoever
//! copies looks again.
//!
//! # Why main's time is never told from another block's t0
//! The ticker says that it is inside before it looks at `since` and `t0`. The owner changes `t0` while `since` is closed,
//! and opens that only if the ticker is not inside: then every look of the ticker comes later and finds the new t0. If
//! the ticker is inside, the event goes to the native writer, and so does the next. Nobody waits.
//!
//! # Why the block of a silent thread can be taken
//! The native writer sets `inside` before it looks at `asked`, and clears it when it is done ([`Gate::enter`]). The pool
//! sets [`CLAIM`] in `asked` and looks at `inside` later. So either the writer sees the request, and asks the pool, under its
//! lock, whether the block is still its own; or the pool sees that the writer is inside, and leaves the block alone.
//!
//! The argument needs the writer's store of `inside` to be visible before its look at `asked`, which on the hot path would cost
//! a fence as dear as the event. The pool pays instead: it looks a time of grace after it asked. A thread that was running
//! then has left its store buffer long since, and one that was not has been switched out, which is a full barrier.
//!
//! A writer in Java sets nothing. After the request it stores no more than one word, and it is known where:
//! [`crate::memory::stale`].

use super::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use super::atomic::{AtomicBool, AtomicU32, AtomicU64, fence, order};

/// In place of both numbers.
pub(crate) const CLOSED: u64 = 1 << 63;

/// The owner is to take its block along to the file.
pub(crate) const FOLLOW: u32 = 1;
/// The owner's block may be given to another thread: before it writes it asks for it.
pub(crate) const CLAIM: u32 = 2;

/// A thread's. Never freed while the thread lives: Java has its address, and so have others than its thread.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Gate {
    pub(crate) since: AtomicU64,
    pub(crate) t0: AtomicU64,
    /// What the owner is to do before it writes: [`FOLLOW`], [`CLAIM`].
    pub(crate) asked: AtomicU32,
    /// The ticker is inside.
    pub(crate) ticking: AtomicBool,
    /// The owner's native writer is inside.
    pub(crate) inside: AtomicBool,
    /// The owner has lent the pen to Java. Stored while it is inside.
    pub(crate) lent: AtomicBool,
}

impl Gate {
    /// A closed one.
    pub(crate) fn new() -> Self {
        Self {
            since: AtomicU64::new(CLOSED),
            t0: AtomicU64::new(CLOSED),
            asked: AtomicU32::new(0),
            ticking: AtomicBool::new(false),
            inside: AtomicBool::new(false),
            lent: AtomicBool::new(false),
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
        if self.asked.load(Acquire) != 0 {
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

    /// Asks the owner to do `what` before it writes again. For [`FOLLOW`] the file must be known.
    pub(crate) fn ask(&self, what: u32) {
        self.asked.fetch_or(what, AcqRel);
        self.close();
    }

    /// The owner's: whether it is asked for anything.
    #[inline]
    pub(crate) fn is_asked(&self) -> bool {
        self.asked.load(Relaxed) != 0
    }

    /// The owner's: whether it is asked for this.
    #[inline]
    pub(crate) fn is_asked_to(&self, what: u32) -> bool {
        self.asked.load(Relaxed) & what != 0
    }

    /// The owner has done what it was asked for.
    pub(crate) fn answer(&self, what: u32) {
        self.asked.fetch_and(!what, Release);
    }

    /// The owner's native writer goes to its block.
    #[inline]
    pub(crate) fn enter(&self) {
        self.inside.store(true, Relaxed);
        order();
    }

    /// It is done there.
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
            // A fault of the time is no reason to write into the other bits of a word.
            let since = if since < room { since } else { CLOSED };
            let _ = self.since.compare_exchange(before, since, AcqRel, Relaxed);
        }
        self.ticking.store(false, Release);
    }
}
