//! The word that says whether an event may be written at once, and at what time.
//!
//! ```text
//! 0                 closed: whoever has an event asks first, see [`TimeWord::open`]
//! CLOCK_BOOTTIME ns coarse: this is the time of any event until the next tick
//! READ_CLOCK        precise: every event reads the clock itself
//! ```
//! `MethodBeat` reads it in the mapped library's memory, so one load answers three questions: is anything
//! recorded, is the ticker awake, what time is it.
//!
//! # Why the ticker can sleep and no event gets a stale time
//! The ticker closes the word before it sleeps, so the first event after an idle stretch comes to `open`, which
//! stores the time of now and wakes the ticker. To find out whether anybody records, the ticker closes the word
//! once a lease ([`crate::ticker`]) and looks a tick later whether somebody has opened it: nobody tells it of
//! each event, and nobody pays for telling.
//!
//! # Why no wake-up is lost
//! `open` stores the word and then loads `asleep`; the ticker stores `asleep` and then loads the word; both have a
//! SeqCst fence in between (Dekker's argument). Either the ticker sees the word open and stays awake, or `open` sees it asleep and
//! wakes it; the wake leaves a token if it comes before the sleep. `loom_time_word.rs` runs this file through
//! every order of events.

use super::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst, fence};

/// Nothing may be written without asking.
pub(crate) const CLOSED: u64 = 0;
/// Precise: later than any time (2^62 ns are 146 years after boot), so that coarse writers turn away from it.
pub(crate) const READ_CLOCK: u64 = 1 << 62;

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

/// The word and what stands beside it. Whoever stores the word swaps it: then all of its values have one order. On cache lines of its own: every event reads it.
#[derive(Debug)]
#[repr(C, align(128))]
pub(crate) struct TimeWord {
    /// What Java reads.
    pub(crate) word: AtomicU64,
    /// The greatest time that the word ever held.
    pub(crate) high: AtomicU64,
    /// Calls of main that are no longer than this, ns, are left out; all ones: none is. Java reads it.
    pub(crate) fold_main: AtomicU64,
    /// As `fold_main`, for all other threads.
    pub(crate) fold_others: AtomicU64,
    pub(crate) pace: AtomicU32,
    pub(crate) asleep: AtomicBool,
}

impl TimeWord {
    pub(crate) fn pace(&self) -> Pace {
        Pace::of_number(self.pace.load(SeqCst))
    }

    /// Changes the pace. Every writer comes to [`TimeWord::open`] with its next event.
    pub(crate) fn set_pace(&self, pace: Pace) {
        self.pace.store(pace as u32, SeqCst);
        self.word.swap(CLOSED, SeqCst);
    }

    /// Opens the word for an event at `now`, a reading of the clock, and calls `wake` if the ticker sleeps. Gives
    /// the pace and the event's time, which is `now` or what the word held if that is later. With
    /// [`Pace::Off`] nothing may be written.
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
            self.word.fetch_max(value, SeqCst);
            if self.pace.load(SeqCst) != number {
                // What was opened just now is of a pace that is over.
                self.word.swap(CLOSED, SeqCst);
                continue;
            }
            fence(SeqCst);
            if self.asleep.load(SeqCst) {
                wake();
            }
            return (pace, time);
        }
    }

    /// The ticker's: `now` becomes the time of events from here on. A closed word stays closed, a greater one stays.
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

    /// The ticker's: the next event has to ask.
    pub(crate) fn close(&self) {
        self.word.swap(CLOSED, SeqCst);
    }

    /// Whether somebody has recorded since [`TimeWord::close`].
    pub(crate) fn is_open(&self) -> bool {
        self.word.load(SeqCst) != CLOSED
    }

    /// The ticker's: whether it may sleep now. If not, somebody is recording.
    pub(crate) fn fall_asleep(&self) -> bool {
        self.asleep.store(true, SeqCst);
        fence(SeqCst);
        if self.is_open() {
            self.asleep.store(false, SeqCst);
            return false;
        }
        true
    }

    /// The ticker's, when it wakes.
    pub(crate) fn wake_up(&self) {
        self.asleep.store(false, SeqCst);
    }
}
