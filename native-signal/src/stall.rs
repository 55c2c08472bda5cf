//! Detects a message of the watched thread that does not end.
//!
//! # How the timer thread follows without notifications
//!
//! The watched thread only stores a generation and the start time of its message, 0 between messages. The timer
//! thread sleeps until the message that it saw would reach its next threshold. Every later message reaches it later, so
//! sleeping through any number of messages misses nothing, and the timer wakes about once per `suspect_ns` however
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
//!
//! # Frozen processes
//!
//! BOOTTIME keeps running while a cached app is frozen, while the system's ANR timer freezes the process before it requests the
//! dump, and while the device sleeps. If the timer thread itself wakes later than requested by more than [`FROZEN_NS`], and the
//! process used no CPU time meanwhile, then nothing in this process ran, and that interval does not count towards the message's age.
//! [`StallTimer::frozen_ns`] returns its length, also before the timer thread has run again: after a freeze the signal's
//! handler may be the first to run.

use crate::clock::process_cpu_ns;
use crate::mask;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use trace_format::android::ANR_LIMIT_NS;

/// The thread's name.
const NAME: &str = "anrscope-timer";

/// The timer thread parks after this long without an open message.
const PARK_AFTER_NS: u64 = 2_000_000_000;

/// The delay of the timer thread from which on the process may have been frozen, rather than waiting for a busy CPU; or half of
/// `stall_ns`, if that is less. The system's freezer keeps a process for as long as its ANR handling takes to begin (AOSP
/// `services/core/jni/com_android_server_utils_AnrTimer.cpp`, Android 16: frozen at the timer's end, thawed before the dump).
const FROZEN_NS: u64 = 1_000_000_000;

/// The process ran during a delay if it used at least one part in this many of it.
const RAN_SHARE: u64 = 100;

/// The ages at which a message is suspect and stalled, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Thresholds {
    /// From this age on a message is suspect and [`StallEvent::Tick`]s come. Also how often the timer thread wakes while
    /// messages come and go.
    pub suspect_ns: u64,
    /// From this age on it is stalled.
    pub stall_ns: u64,
    /// The interval between two ticks, and the precision of [`StallEvent::Recovered`].
    pub tick_ns: u64,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds { suspect_ns: 1_000_000_000, stall_ns: ANR_LIMIT_NS, tick_ns: 20_000_000 }
    }
}

/// An event of the timer thread. Times are those of the clock given to [`StallTimer::start`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StallEvent {
    /// The timer thread has polled; comes before all other events of this poll.
    Poll {
        /// When the open message began; 0 if none is open.
        since_ns: u64,
        /// When it polled.
        now_ns: u64,
        /// How much later than requested it woke.
        late_ns: u64,
    },
    /// The message is suspect and still open.
    Tick {
        /// When it began.
        since_ns: u64,
    },
    /// The message has reached `stall_ns`; once a message.
    Stalled {
        /// When it began.
        since_ns: u64,
        /// When that was detected. It is never less than `stall_ns` after `since_ns`.
        now_ns: u64,
    },
    /// A message that was reported as stalled has ended.
    Recovered {
        /// When it began.
        since_ns: u64,
        /// When its end was detected, which is up to `tick_ns` after it.
        now_ns: u64,
    },
}

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
    /// [`Thresholds`], in their order.
    thresholds: [AtomicU64; 3],
    /// Never taken on the watched thread.
    rest: Mutex<Rest>,
}

/// The timer thread's sleep, and how long the process was frozen in the open message. Changed by that thread alone.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    /// When it is due to wake; 0 while it is awake or parked.
    until_ns: u64,
    /// The most CPU time that the process can have used by then.
    cpu_ns: u64,
    /// The open message, and how long the process was frozen in it.
    since_ns: u64,
    frozen_ns: u64,
}

impl Rest {
    /// How much of a message that began at `since_ns`, until `at_ns`, the process was frozen in this sleep.
    fn frozen(&self, since_ns: u64, at_ns: u64, threshold_ns: u64) -> u64 {
        if self.until_ns == 0 {
            return 0;
        }
        let late_ns = at_ns.saturating_sub(self.until_ns);
        let ran = || process_cpu_ns() >= self.cpu_ns.saturating_add(late_ns / RAN_SHARE);
        if late_ns <= threshold_ns || ran() {
            return 0;
        }
        at_ns.saturating_sub(self.until_ns.max(since_ns))
    }
}

impl Watched {
    fn set_thresholds(&self, thresholds: Thresholds) {
        let suspect_ns = thresholds.suspect_ns.max(10_000);
        let ordered = [suspect_ns, thresholds.stall_ns.max(suspect_ns), thresholds.tick_ns.max(10_000)];
        for (slot, ns) in self.thresholds.iter().zip(ordered) {
            slot.store(ns, Ordering::Relaxed);
        }
    }

    /// While they are changed the result may mix old and new ones: the next poll has all new ones.
    fn thresholds(&self) -> Thresholds {
        let [suspect_ns, stall_ns, tick_ns] = [0, 1, 2].map(|at| self.thresholds[at].load(Ordering::Relaxed));
        Thresholds { suspect_ns, stall_ns: stall_ns.max(suspect_ns), tick_ns }
    }

    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The delay of the timer thread from which on the process may have been frozen.
    fn frozen_threshold(&self) -> u64 {
        FROZEN_NS.min(self.thresholds[1].load(Ordering::Relaxed) / 2)
    }
}

impl StallTimer {
    /// Starts the thread "anrscope-timer", which takes no signals.
    ///
    /// `now` is the clock of the times passed to [`StallTimer::message_begin`], usually CLOCK_BOOTTIME
    /// ([`crate::boottime_ns`]). `observer` runs on the timer thread; if it panics, it is not called any more and
    /// [`StallTimer::observer_panicked`] is true. Thresholds are adjusted: `stall_ns` at least
    /// `suspect_ns`, and neither it nor `tick_ns` under 10 µs.
    ///
    /// # Errors
    ///
    /// The thread could not be started.
    pub fn start(
        thresholds: Thresholds,
        now: fn() -> u64,
        observer: Box<dyn FnMut(StallEvent) + Send>,
    ) -> io::Result<StallTimer> {
        StallTimer::start_and_park(thresholds, PARK_AFTER_NS, now, observer)
    }

    fn start_and_park(
        thresholds: Thresholds,
        park_after_ns: u64,
        now: fn() -> u64,
        observer: Box<dyn FnMut(StallEvent) + Send>,
    ) -> io::Result<StallTimer> {
        let timer = StallTimer::new(thresholds);
        timer.run_and_park(park_after_ns, now, observer)?;
        Ok(timer)
    }

    /// A timer without its thread, for a watched thread that has no time to start one: it can pass messages at once, and
    /// [`StallTimer::run`], on another thread, begins with the message that is open then.
    pub fn new(thresholds: Thresholds) -> StallTimer {
        let watched = Arc::new(Watched::default());
        watched.set_thresholds(thresholds);
        StallTimer { watched, thread: OnceLock::new(), pid: std::process::id() }
    }

    /// Starts the thread of a timer that was made by [`StallTimer::new`]; the arguments are those of
    /// [`StallTimer::start`]. A timer that has its thread keeps it, and nothing happens.
    ///
    /// # Errors
    ///
    /// The thread could not be started.
    pub fn run(&self, now: fn() -> u64, observer: Box<dyn FnMut(StallEvent) + Send>) -> io::Result<()> {
        self.run_and_park(PARK_AFTER_NS, now, observer)
    }

    fn run_and_park(
        &self,
        park_after_ns: u64,
        now: fn() -> u64,
        observer: Box<dyn FnMut(StallEvent) + Send>,
    ) -> io::Result<()> {
        if self.thread.get().is_some() {
            return Ok(());
        }
        let watched = self.watched.clone();
        let thresholds = watched.thresholds();
        let timer = Timer { watched, thresholds, park_after_ns, now, observer: Some(observer), state: None };
        let thread = mask::spawn_quiet(NAME, move || timer.run())?;
        let _ = self.thread.set(thread);
        // Pairs with the fence of `wake`: thresholds that were set before the thread could be woken for them are seen now.
        fence(Ordering::SeqCst);
        self.wake();
        Ok(())
    }

    /// Wakes the timer thread; stores made before are visible to it.
    fn wake(&self) {
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
        let watched = &*self.watched;
        // SeqCst, as in `message_begin`: it is ordered before the load of `parked`.
        let free = watched.begin_ns.compare_exchange(0, begun_ns.max(1), Ordering::SeqCst, Ordering::Relaxed);
        if free.is_ok() && watched.parked.load(Ordering::SeqCst) {
            self.unpark();
        }
        free.is_ok()
    }

    /// Ends the work that began then. Does nothing if the watched thread has begun or ended a message since.
    pub fn work_ends(&self, begun_ns: u64) {
        let begin = &self.watched.begin_ns;
        let _ = begin.compare_exchange(begun_ns.max(1), 0, Ordering::Release, Ordering::Relaxed);
    }

    /// Changes the thresholds; a message that has passed one of them already is reported at once. Any thread.
    pub fn set_thresholds(&self, thresholds: Thresholds) {
        self.watched.set_thresholds(thresholds);
        self.wake();
    }

    #[cold]
    fn unpark(&self) {
        self.watched.parked.store(false, Ordering::Relaxed);
        self.wake();
    }

    /// How long this process was frozen in the message that began at `since_ns`, until `at_ns`: by the system's freezer, by
    /// SIGSTOP, or with the sleeping device. In ns of the clock given to [`StallTimer::start`]; at most a second too little,
    /// and 0 if unknown. `at_ns` is now or a moment ago. Any thread but the watched one.
    pub fn frozen_ns(&self, since_ns: u64, at_ns: u64) -> u64 {
        let rest = *self.watched.rest();
        let known_ns = if rest.since_ns == since_ns { rest.frozen_ns } else { 0 };
        let frozen_ns =
            known_ns.saturating_add(rest.frozen(since_ns, at_ns, self.watched.frozen_threshold()));
        frozen_ns.min(at_ns.saturating_sub(since_ns))
    }

    /// Whether the observer panicked and is not called any more.
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

/// The open message, as the timer thread knows it.
#[derive(Clone, Copy)]
struct MessageState {
    generation: u32,
    since_ns: u64,
    /// `since_ns`, plus the time in which the process was frozen.
    counted_from_ns: u64,
    stalled: bool,
}

struct Timer {
    watched: Arc<Watched>,
    thresholds: Thresholds,
    park_after_ns: u64,
    now: fn() -> u64,
    observer: Option<Box<dyn FnMut(StallEvent) + Send>>,
    state: Option<MessageState>,
}

impl Timer {
    fn run(mut self) {
        let mut quiet_since = None;
        let mut last_generation = 0;
        // How late the last wake-up was.
        let mut late_ns = 0;
        while !self.watched.stop.load(Ordering::Acquire) {
            // Read the clock first: a message that is open afterwards is at least this old.
            let now_ns = (self.now)();
            let (generation, begin_ns) = self.open_message();
            self.thresholds = self.watched.thresholds();
            let recovered = self.update(now_ns, generation, begin_ns);
            self.report(StallEvent::Poll { since_ns: begin_ns, now_ns, late_ns });
            let sleep_ns = self.follow(now_ns, recovered);

            let quiet = begin_ns == 0 && generation == last_generation;
            last_generation = generation;
            let quiet_since = match quiet {
                true => *quiet_since.get_or_insert(now_ns),
                false => *quiet_since.insert(now_ns),
            };
            if quiet && now_ns.saturating_sub(quiet_since) >= self.park_after_ns {
                self.park();
                late_ns = 0;
                continue;
            }
            let before_ns = (self.now)();
            {
                let mut rest = self.watched.rest();
                rest.until_ns = before_ns.saturating_add(sleep_ns);
                rest.cpu_ns = process_cpu_ns().saturating_add(sleep_ns);
            }
            thread::park_timeout(Duration::from_nanos(sleep_ns));
            self.watched.wakeups.fetch_add(1, Ordering::Relaxed);
            late_ns = (self.now)().saturating_sub(before_ns).saturating_sub(sleep_ns);
        }
    }

    /// The open message: its generation and its start, 0 if no message is open.
    fn open_message(&self) -> (u32, u64) {
        loop {
            let generation = self.watched.generation.load(Ordering::Acquire);
            let begin_ns = self.watched.begin_ns.load(Ordering::SeqCst);
            if self.watched.generation.load(Ordering::Acquire) == generation {
                return (generation, begin_ns);
            }
        }
    }

    /// Updates the state of the open message, including how long the process was frozen in the sleep that ends here. Returns the
    /// start of a stalled message that is over.
    fn update(&mut self, now_ns: u64, generation: u32, begin_ns: u64) -> Option<u64> {
        // Work outside of messages has the generation of the message before it.
        let known = self
            .state
            .filter(|state| begin_ns != 0 && state.generation == generation && state.since_ns == begin_ns);
        let over = if known.is_none() { self.state } else { None };
        self.state = (begin_ns != 0).then(|| {
            known.unwrap_or(MessageState {
                generation,
                since_ns: begin_ns,
                counted_from_ns: begin_ns,
                stalled: false,
            })
        });
        let threshold_ns = self.watched.frozen_threshold();
        let mut rest = self.watched.rest();
        if let Some(state) = &mut self.state {
            let frozen_ns = rest.frozen(begin_ns, now_ns, threshold_ns);
            state.counted_from_ns = state.counted_from_ns.saturating_add(frozen_ns).min(now_ns.max(begin_ns));
            rest.frozen_ns = state.counted_from_ns - begin_ns;
        }
        rest.since_ns = begin_ns;
        rest.until_ns = 0;
        over.filter(|state| state.stalled).map(|state| state.since_ns)
    }

    /// Emits the events that are due, and returns the time until the next threshold.
    fn follow(&mut self, now_ns: u64, recovered: Option<u64>) -> u64 {
        if let Some(since_ns) = recovered {
            self.report(StallEvent::Recovered { since_ns, now_ns });
        }
        let Some(mut state) = self.state else { return self.thresholds.suspect_ns };
        let age_ns = now_ns.saturating_sub(state.counted_from_ns);
        let to_stall_ns = self.thresholds.stall_ns.saturating_sub(age_ns);
        let sleep_ns = if age_ns < self.thresholds.suspect_ns {
            self.thresholds.suspect_ns - age_ns
        } else {
            if to_stall_ns == 0 && !state.stalled {
                state.stalled = true;
                self.report(StallEvent::Stalled { since_ns: state.since_ns, now_ns });
            }
            self.report(StallEvent::Tick { since_ns: state.since_ns });
            match to_stall_ns {
                0 => self.thresholds.tick_ns,
                left => left.min(self.thresholds.tick_ns),
            }
        };
        self.state = Some(state);
        sleep_ns
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

    fn report(&mut self, event: StallEvent) {
        let Some(observer) = self.observer.as_mut() else { return };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| observer(event))) {
            self.watched.observer_panicked.store(true, Ordering::Relaxed);
            // Dropping the observer after its panic may panic again.
            std::mem::forget(panic);
            std::mem::forget(self.observer.take());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boottime_ns;
    use std::time::Instant;

    /// The timer parks whenever it can, and messages begin at every moment of that. A lost wake-up
    /// leaves a message open without a tick.
    #[test]
    fn no_wake_up_is_lost_while_the_timer_parks() {
        static TICKED: AtomicU64 = AtomicU64::new(0);
        let thresholds = Thresholds { suspect_ns: 10_000, stall_ns: 3_600_000_000_000, tick_ns: 10_000 };
        let observer = |event| {
            if let StallEvent::Tick { since_ns } = event {
                TICKED.store(since_ns, Ordering::SeqCst);
            }
        };
        let timer = StallTimer::start_and_park(thresholds, 0, boottime_ns, Box::new(observer)).unwrap();
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
}
