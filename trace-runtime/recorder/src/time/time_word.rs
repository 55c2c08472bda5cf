//! The word that says whether an event may be written at once, and at what time.
//!
//! ```text
//! 0                 closed: an event calls [`TimeWord::open`] first
//! CLOCK_BOOTTIME ns coarse: this is the time of any event until the next tick
//! READ_CLOCK        precise: every event reads the clock itself
//! ```
//! `MethodBeat` reads it in the mapped library's memory, so one load answers three questions: is anything
//! recorded, is the ticker awake, what time is it.
//!
//! # Why the ticker can sleep and no event gets a stale time
//! The ticker closes the word before it sleeps, so the first event after an idle stretch calls `open`, which
//! stores the current time and wakes the ticker. To find out whether any thread records, the ticker closes
//! the word once a lease and checks a tick later whether a thread has opened it: events are neither counted
//! nor signalled.
//!
//! # Why no wake-up is lost
//! `open` stores the word and then loads `sleeping`; the ticker stores `sleeping` and then loads the word; both have a
//! SeqCst fence in between (Dekker's argument). Either the ticker sees the word open and stays awake, or `open` sees it sleeping and
//! wakes it; the wake leaves a token if it comes before the sleep. `models/time_word.rs` runs it
//! through every order of events.

use crate::sync::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst, fence};

/// Nothing may be written before [`TimeWord::open`] is called.
pub(crate) const CLOSED: u64 = 0;
/// Precise: later than any time (2^62 ns are 146 years after boot), so that coarse writers leave the fast
/// path.
pub(crate) const READ_CLOCK: u64 = 1 << 62;

/// In `fold_main` and `fold_others`: no call is left out.
pub(crate) const FOLD_NOTHING: u64 = u64::MAX;

/// How events get their time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub(crate) enum Pace {
    /// Nothing is recorded.
    Off = 0,
    /// Every event reads the clock.
    Precise = 1,
    /// Methods copy the ticker's time.
    Coarse = 2,
}

impl Pace {
    fn of_number(number: u32) -> Self {
        [Self::Precise, Self::Coarse].into_iter().find(|pace| *pace as u32 == number).unwrap_or(Self::Off)
    }
}

/// The time word and its state. It is stored by swaps alone, so that all of its values have one order. On
/// cache lines of its own: every event reads it.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct TimeWord {
    /// What Java reads.
    pub(crate) word: AtomicU64,
    /// The greatest time that the word ever held.
    pub(crate) high: AtomicU64,
    /// Calls of main that take at most this, ns, are left out; with [`FOLD_NOTHING`] no call is. Java reads it.
    pub(crate) fold_main: AtomicU64,
    /// As `fold_main`, for all other threads.
    pub(crate) fold_others: AtomicU64,
    pub(crate) pace: AtomicU32,
    pub(crate) sleeping: AtomicBool,
}

impl TimeWord {
    pub(crate) fn pace(&self) -> Pace {
        Pace::of_number(self.pace.load(SeqCst))
    }

    /// Changes the pace. Every writer calls [`TimeWord::open`] with its next event.
    pub(crate) fn set_pace(&self, pace: Pace) {
        self.pace.store(pace as u32, SeqCst);
        self.word.swap(CLOSED, SeqCst);
    }

    /// Opens the word for an event at `now`, a reading of the clock, and calls `wake` if the ticker sleeps.
    /// Returns the pace and the event's time, which is `now` or what the word held if that is later. With
    /// [`Pace::Off`] nothing may be written.
    #[inline]
    pub(crate) fn open(&self, now: u64, wake: impl Fn()) -> (Pace, u64) {
        loop {
            let number = self.pace.load(SeqCst);
            let pace = Pace::of_number(number);
            let (time, value) = match pace {
                Pace::Off => return (pace, now),
                Pace::Precise => (now, READ_CLOCK),
                Pace::Coarse => {
                    let time = self.high.fetch_max(now, SeqCst).max(now);
                    (time, time)
                }
            };
            let before = self.word.fetch_max(value, SeqCst);
            if self.pace.load(SeqCst) != number {
                // The word was opened just now at a pace that is over.
                self.word.swap(CLOSED, SeqCst);
                continue;
            }
            // The ticker sleeps behind a closed word only: the event that opens it wakes the ticker.
            if before == CLOSED {
                fence(SeqCst);
                if self.sleeping.load(SeqCst) {
                    wake();
                }
            }
            return (pace, time);
        }
    }

    /// Makes `now` the time of events from here on; for the ticker. A closed word stays closed, a greater one
    /// stays.
    pub(crate) fn tick(&self, now: u64) {
        let now = self.high.fetch_max(now, SeqCst).max(now);
        let mut word = self.word.load(SeqCst);
        while word != CLOSED && word < now {
            match self.word.compare_exchange(word, now, SeqCst, SeqCst) {
                Ok(_) => return,
                Err(other) => word = other,
            }
        }
    }

    /// Closes the word, for the ticker: the next event calls [`TimeWord::open`].
    pub(crate) fn close(&self) {
        self.word.swap(CLOSED, SeqCst);
    }

    /// Whether a thread has recorded since [`TimeWord::close`].
    pub(crate) fn is_open(&self) -> bool {
        self.word.load(SeqCst) != CLOSED
    }

    /// Whether the ticker may sleep now. If not, a thread is recording.
    pub(crate) fn try_sleep(&self) -> bool {
        self.sleeping.store(true, SeqCst);
        fence(SeqCst);
        if self.is_open() {
            self.sleeping.store(false, SeqCst);
            return false;
        }
        true
    }

    /// Ends the ticker's sleep.
    pub(crate) fn wake_up(&self) {
        self.sleeping.store(false, SeqCst);
    }
}
