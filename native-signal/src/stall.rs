//! Wakes a thread while a message of the watched thread is open. What that message is, and when to wake next, the thread's observer
//! decides (`trace_rules::looper::Watch`).
//!
//! # How the timer thread follows without notifications
//!
//! The watched thread only stores a generation and the start time of its message, 0 between messages. The timer
//! thread sleeps until the message that it saw would reach its next limit. Every later message reaches it later, so
//! sleeping through any number of messages misses nothing, and the timer wakes about once per first limit however
//! many there are. After two seconds without an open message it parks, and the next message wakes it.
//!
//! # Why no wake-up is lost
//!
//! `message_begin` stores `begin` and then loads `parked`; the timer stores `parked` and then loads `begin`; all
//! four are SeqCst, so they stand in one order that keeps each thread's own (Dekker's argument). Either the store of
//! `begin` comes before the timer's load, and the timer sees the message and does not park; or the timer's
//! store of `parked` comes before the watched thread's load, and that thread unparks it. `Thread::unpark` leaves a
//! token if it comes before the `park`, so the moment between the timer's load and its sleep is covered as well.
//!
//! # Why an old message is never taken for a new one
//!
//! The timer reads generation, `begin`, generation. The watched thread stores the generation before `begin` (both
//! released), and 0 before the next generation. If both reads of the generation agree on *k*, `begin` was read after
//! message *k*'s generation was stored, so it is not an earlier message's, and a later message's `begin` would have
//! shown its generation to the second read. So `begin` belongs to message *k*, or is 0, or belongs to work that another thread found
//! after it ([`StallTimer::work_began`]), which has another time.

use crate::mask;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, OnceLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The thread's name.
const NAME: &str = "anrscope-timer";

/// The timer thread parks after this long without an open message.
const PARK_AFTER_NS: u64 = 2_000_000_000;

/// The timer thread sleeps no shorter than this, even if its observer asks for less.
const SHORTEST_SLEEP_NS: u64 = 10_000;

/// Set in the start of what is only suspected; no clock of nanoseconds reaches it.
const SUSPECTED: u64 = 1 << 63;

/// The timer thread is awake. Times are those of the clock given to [`StallTimer::run`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakeup {
    /// When the open message began; 0 if none is open.
    pub since_ns: u64,
    /// True if another thread only suspects that the watched one has been at work since then ([`StallTimer::suspicion_began`]).
    pub is_suspicion: bool,
    /// A number that each message changes. Work outside of messages has that of the message before it.
    pub generation: u32,
    /// Now.
    pub now_ns: u64,
    /// When it was to wake; 0 if it was parked, or has just started.
    pub due_ns: u64,
}

/// Decides at each wake-up, on the timer thread, and returns the time until the next one, in ns.
pub type WakeupObserver = Box<dyn FnMut(Wakeup) -> u64 + Send>;

/// Watches one thread's messages. Dropping it ends its thread.
#[derive(Debug)]
pub struct StallTimer {
    watched: Arc<Watched>,
    thread: OnceLock<JoinHandle<()>>,
    pid: u32,
}

#[derive(Debug, Default)]
struct Watched {
    begin_ns: AtomicU64,
    generation: AtomicU32,
    parked: AtomicBool,
    stop: AtomicBool,
    observer_panicked: AtomicBool,
    wakeups: AtomicU64,
    /// When the timer thread is due to wake; 0 while it is awake or parked.
    due_ns: AtomicU64,
}

impl StallTimer {
    /// A timer without its thread, for a watched thread that has no time to start one: it can pass messages at once, and
    /// [`StallTimer::run`], on another thread, begins with the message that is open then.
    pub fn new() -> StallTimer {
        StallTimer { watched: Arc::default(), thread: OnceLock::new(), pid: std::process::id() }
    }

    /// Starts the thread "anrscope-timer", which takes no signals. A timer that has its thread keeps it, and nothing happens.
    ///
    /// `now` is the clock of the times passed to [`StallTimer::message_begin`], usually CLOCK_BOOTTIME
    /// ([`crate::boottime_ns`]). `observer` runs on the timer thread; if it panics, that thread ends and
    /// [`StallTimer::observer_panicked`] is true.
    ///
    /// # Errors
    ///
    /// The thread could not be started.
    pub fn run(&self, now: fn() -> u64, observer: WakeupObserver) -> io::Result<()> {
        self.run_and_park(PARK_AFTER_NS, now, observer)
    }

    fn run_and_park(&self, park_after_ns: u64, now: fn() -> u64, observer: WakeupObserver) -> io::Result<()> {
        if self.thread.get().is_some() {
            return Ok(());
        }
        let timer = Timer { watched: self.watched.clone(), park_after_ns, now, observer };
        let thread = mask::spawn_quiet(NAME, move || timer.run())?;
        let _ = self.thread.set(thread);
        // Pairs with the fence of `wake`: what was changed before the thread could be woken for it is seen now.
        fence(Ordering::SeqCst);
        self.wake();
        Ok(())
    }

    /// Wakes the timer thread before it is due, to decide by other limits; stores made before are visible to it. Any thread.
    pub fn wake(&self) {
        fence(Ordering::SeqCst);
        if let Some(thread) = self.thread.get() {
            thread.thread().unpark();
        }
    }

    /// The watched thread begins a message; one that was not ended ends here. Two stores and a load; one futex wake if no message
    /// was open for two seconds. Call it on one thread at a time only.
    #[inline]
    pub fn message_begin(&self, now_ns: u64) {
        let watched = &*self.watched;
        let generation = watched.generation.load(Ordering::Relaxed).wrapping_add(1);
        watched.generation.store(generation, Ordering::Release);
        watched.begin_ns.store(now_ns.max(1), Ordering::SeqCst);
        if watched.parked.load(Ordering::SeqCst) {
            self.unpark();
        }
    }

    /// The watched thread has ended its message. One store.
    #[inline]
    pub fn message_end(&self) {
        self.watched.begin_ns.store(0, Ordering::Release);
    }

    /// Watches work outside of messages, which another thread found to have begun then, as a message, until
    /// [`StallTimer::work_ends`] or until the watched thread itself begins or ends a message. False, without effect, while a message is open.
    /// Any thread but the watched one; each piece of work has its own `begun_ns`.
    pub fn work_began(&self, begun_ns: u64) -> bool {
        self.begin_unless_open(begun_ns.max(1))
    }

    /// Watches what may be work outside of messages like [`StallTimer::work_began`]; each [`Wakeup`] says that it is a suspicion.
    pub fn suspicion_began(&self, begun_ns: u64) -> bool {
        self.begin_unless_open(begun_ns | SUSPECTED)
    }

    fn begin_unless_open(&self, begin: u64) -> bool {
        let watched = &*self.watched;
        // SeqCst, as in `message_begin`: it is ordered before the load of `parked`.
        let free = watched.begin_ns.compare_exchange(0, begin, Ordering::SeqCst, Ordering::Relaxed);
        if free.is_ok() && watched.parked.load(Ordering::SeqCst) {
            self.unpark();
        }
        free.is_ok()
    }

    /// Ends the work, or the suspicion, that began then. Does nothing if the watched thread has begun or ended a message since.
    pub fn work_ends(&self, begun_ns: u64) {
        for begin in [begun_ns.max(1), begun_ns | SUSPECTED] {
            let _ = self.watched.begin_ns.compare_exchange(begin, 0, Ordering::Release, Ordering::Relaxed);
        }
    }

    #[cold]
    fn unpark(&self) {
        self.watched.parked.store(false, Ordering::Relaxed);
        self.wake();
    }

    /// When the timer thread is due to wake; 0 while it is awake or parked. A time in the past is that of a thread that could not
    /// run. Any thread.
    pub fn due_ns(&self) -> u64 {
        self.watched.due_ns.load(Ordering::Acquire)
    }

    /// Whether the observer panicked, so that the timer's thread has ended.
    pub fn observer_panicked(&self) -> bool {
        self.watched.observer_panicked.load(Ordering::Relaxed)
    }

    /// How often the timer thread woke, to measure its cost.
    pub fn wakeups(&self) -> u64 {
        self.watched.wakeups.load(Ordering::Relaxed)
    }

    /// Ends the thread and waits for it. Called in the observer it does not wait.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for StallTimer {
    fn drop(&mut self) {
        let Some(thread) = self.thread.take() else { return };
        // In a child made by fork the thread does not exist.
        if self.pid != std::process::id() {
            std::mem::forget(thread);
            return;
        }
        self.watched.stop.store(true, Ordering::Release);
        thread.thread().unpark();
        if thread.thread().id() != thread::current().id() {
            let _ = thread.join();
        }
    }
}

impl Default for StallTimer {
    fn default() -> Self {
        StallTimer::new()
    }
}

struct Timer {
    watched: Arc<Watched>,
    park_after_ns: u64,
    now: fn() -> u64,
    observer: WakeupObserver,
}

impl Timer {
    fn run(mut self) {
        let mut quiet_since = None;
        let mut last_generation = 0;
        let mut due_ns = 0;
        while !self.watched.stop.load(Ordering::Acquire) {
            // Read the clock first: a message that is open afterwards is at least this old.
            let now_ns = (self.now)();
            let (generation, begin) = self.open_message();
            let since_ns = begin & !SUSPECTED;
            let observer = &mut self.observer;
            let wakeup =
                Wakeup { since_ns, is_suspicion: begin & SUSPECTED != 0, generation, now_ns, due_ns };
            let sleep_ns = match catch_unwind(AssertUnwindSafe(|| observer(wakeup))) {
                Ok(sleep_ns) => sleep_ns.max(SHORTEST_SLEEP_NS),
                Err(panic) => {
                    self.watched.observer_panicked.store(true, Ordering::Relaxed);
                    // Dropping the observer after its panic may panic again.
                    std::mem::forget(panic);
                    std::mem::forget(self.observer);
                    return;
                }
            };

            let quiet = since_ns == 0 && generation == last_generation;
            last_generation = generation;
            let quiet_since = match quiet {
                true => *quiet_since.get_or_insert(now_ns),
                false => *quiet_since.insert(now_ns),
            };
            if quiet && now_ns.saturating_sub(quiet_since) >= self.park_after_ns {
                self.park();
                due_ns = 0;
                continue;
            }
            due_ns = (self.now)().saturating_add(sleep_ns);
            self.watched.due_ns.store(due_ns, Ordering::Release);
            thread::park_timeout(Duration::from_nanos(sleep_ns));
            self.watched.due_ns.store(0, Ordering::Release);
            self.watched.wakeups.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// The open message: its generation and its start, perhaps with [`SUSPECTED`]; 0 if no message is open.
    fn open_message(&self) -> (u32, u64) {
        loop {
            let generation = self.watched.generation.load(Ordering::Acquire);
            let begin_ns = self.watched.begin_ns.load(Ordering::SeqCst);
            if self.watched.generation.load(Ordering::Acquire) == generation {
                return (generation, begin_ns);
            }
        }
    }

    fn park(&self) {
        self.watched.parked.store(true, Ordering::SeqCst);
        while self.watched.parked.load(Ordering::SeqCst)
            && self.watched.begin_ns.load(Ordering::SeqCst) == 0
            && !self.watched.stop.load(Ordering::Acquire)
        {
            // `park` may return spuriously; the conditions above decide.
            thread::park();
            self.watched.wakeups.fetch_add(1, Ordering::Relaxed);
        }
        self.watched.parked.store(false, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boottime_ns;
    use std::time::Instant;

    /// The timer parks whenever it can, and messages begin at every moment of that. A lost wake-up
    /// leaves a message open that no wake-up has seen.
    #[test]
    fn no_wake_up_is_lost_while_the_timer_parks() {
        static TICKED: AtomicU64 = AtomicU64::new(0);
        let observer = |wakeup: Wakeup| {
            TICKED.store(wakeup.since_ns, Ordering::SeqCst);
            SHORTEST_SLEEP_NS
        };
        let timer = StallTimer::new();
        timer.run_and_park(0, boottime_ns, Box::new(observer)).unwrap();
        let mut parks = 0;
        for round in 0..5_000u32 {
            // From at once to well after it has parked, in uneven steps.
            let pause = Duration::from_nanos(u64::from(round.wrapping_mul(2_654_435_761) % 80_000));
            let from = Instant::now();
            while from.elapsed() < pause {
                std::hint::spin_loop();
            }
            parks += u32::from(timer.watched.parked.load(Ordering::Relaxed));
            let begin = boottime_ns();
            timer.message_begin(begin);
            let give_up = Instant::now() + Duration::from_secs(30);
            while TICKED.load(Ordering::SeqCst) != begin {
                assert!(Instant::now() < give_up, "the timer missed a message, round {round}");
                thread::yield_now();
            }
            timer.message_end();
        }
        assert!(parks > 0, "it never parked: nothing was tested");
    }

    #[test]
    fn each_wake_up_tells_a_suspicion_from_work_and_from_a_message() {
        let (seen, wakeups) = std::sync::mpsc::channel();
        let timer = StallTimer::new();
        let observer = move |wakeup: Wakeup| {
            let _ = seen.send((wakeup.since_ns, wakeup.is_suspicion));
            1_000_000
        };
        timer.run(boottime_ns, Box::new(observer)).unwrap();
        let comes = |wanted| wakeups.iter().find(|seen| *seen == wanted).is_some();
        assert!(timer.suspicion_began(7) && !timer.work_began(8) && !timer.suspicion_began(9));
        assert!(comes((7, true)));
        timer.work_ends(7);
        assert!(comes((0, false)) && timer.work_began(8) && comes((8, false)));
        timer.work_ends(8);
        assert!(timer.suspicion_began(9));
        timer.message_begin(10);
        timer.work_ends(9);
        assert!(comes((10, false)));
    }
}
