//! The thread "anrscope-signal": drains the slots, re-sends signals that the handler could not forward, rescues pending ones and
//! calls the observer.

use crate::catcher;
use crate::delivery::{Delivery, Fate};
use crate::mask;
use crate::rescue::Rescue;
use crate::sensed::{Forwarded, Sensed};
use crate::shared::{Shared, count};
use crate::task;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The thread's name; fifteen characters are all that the kernel keeps.
pub(crate) const NAME: &str = "anrscope-signal";

/// The thread's nice value: slightly lower priority than the app's threads.
///
/// The handler wakes it before the catcher has run. If they share a CPU it would run first and delay the dump.
/// Only slightly: main may be slow *because* the CPUs are busy, and this thread rescues.
const NICE: i32 = 5;

/// How long, and at which interval, to search for a catcher that is not there: it may just be starting.
const SEARCH_TIMEOUT: Duration = Duration::from_secs(1);
const SEARCH_INTERVAL: Duration = Duration::from_millis(50);

/// The callback for each signal.
pub(crate) type Observer = Box<dyn FnMut(Sensed) + Send>;

/// Starts the thread. It ends once `stop` is set and it is woken.
pub(crate) fn start(
    shared: &'static Shared,
    observer: Observer,
    rescue: Option<Rescue>,
    stop: Arc<AtomicBool>,
) -> io::Result<JoinHandle<()>> {
    let last_resend = Forwarded::Failed { errno: libc::ESRCH };
    let delivery = Delivery::default();
    mask::spawn_quiet(NAME, move || {
        // SAFETY: three integers. On Linux this is about the calling thread alone (man 2 setpriority); a refusal leaves
        // it as it was, which is slower and no worse.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
        Poller { shared, observer: Some(observer), rescue, delivery, recheck_until: None, stop, last_resend }
            .run();
    })
}

struct Poller {
    shared: &'static Shared,
    /// `None` after it panicked: from then on signals are only forwarded.
    observer: Option<Observer>,
    rescue: Option<Rescue>,
    delivery: Delivery,
    /// Until when to search for a new catcher and send a signal once more: the catcher that got it was gone before it could be checked.
    recheck_until: Option<Instant>,
    stop: Arc<AtomicBool>,
    /// The result of the last attempt to re-send.
    last_resend: Forwarded,
}

impl Poller {
    fn run(mut self) {
        // The installation does not search for it if a previous handler is called instead.
        if self.shared.catcher.load(Ordering::Acquire) == 0
            && let Ok(Some(found)) = catcher::find(self.shared.refused.load(Ordering::Acquire))
        {
            let _ = self.shared.catcher.compare_exchange(0, found, Ordering::AcqRel, Ordering::Relaxed);
        }
        // Report what was noted before this thread started at once.
        let mut seen = self.shared.wakes().wrapping_sub(1);
        loop {
            // Read before the wait, for an observer that dropped its own sensor, and before the slots: what was noted
            // until the stop is reported.
            let stop = self.stop.load(Ordering::Acquire);
            if !stop {
                self.shared.sleep(seen, self.time_left());
                count(&self.shared.totals.wakeups);
                // Before the slots are read: a handler that fills a slot later also wakes later.
                seen = self.shared.wakes();
            }
            self.drain_slots();
            if stop {
                return;
            }
            if let Some((mut sensed, catcher)) =
                self.rescue.as_mut().and_then(|rescue| rescue.poll(self.shared))
            {
                match (sensed.forwarded, catcher) {
                    (Forwarded::Rescued { .. }, Some(tid)) => {
                        self.check_receiver(tid);
                    }
                    // Its thread ended between the search and the sending.
                    (Forwarded::Failed { .. }, _) => {
                        self.resend(1);
                        sensed.forwarded = self.last_resend;
                    }
                    _ => {}
                }
                self.report(sensed);
            }
            // A thread that is gone, and that had the signal pending when last checked, counts as one that ends.
            if let Some(Fate::Lost | Fate::Unknown) = self.delivery.poll() {
                self.resend(1);
            }
            self.recheck();
        }
    }

    /// How long to wait for a wake-up at most.
    fn time_left(&self) -> Option<Duration> {
        let rescue_left = self.rescue.as_ref().and_then(Rescue::time_left);
        let recheck_left = self.recheck_until.is_some().then_some(SEARCH_INTERVAL);
        rescue_left.into_iter().chain(self.delivery.time_left()).chain(recheck_left).min()
    }

    fn drain_slots(&mut self) {
        let drained = self.shared.slots.drain();
        if drained.iter().next().is_some() {
            // A dump follows the last request: the thread that gets the later signal answers the earlier one.
            self.recheck_until = None;
        }
        // After the slots: a handler counts an unforwarded signal before it notes it, so the number covers these notes.
        self.resend(self.shared.unforwarded.swap(0, Ordering::AcqRel));
        self.end_loops(self.shared.looped_back.swap(0, Ordering::AcqRel));
        // One check for all of them: what one thread has not taken is one signal.
        let last = drained.iter().filter_map(|sensed| match sensed.forwarded {
            Forwarded::ToCatcher { tid } => Some(tid),
            _ => None,
        });
        let moved = last.last().and_then(|tid| self.check_receiver(tid));
        for mut sensed in drained.iter() {
            match sensed.forwarded {
                Forwarded::Failed { .. } => sensed.forwarded = self.last_resend,
                Forwarded::ToCatcher { .. } => sensed.forwarded = moved.unwrap_or(sensed.forwarded),
                _ => {}
            }
            self.report(sensed);
        }
    }

    /// Forwards signals, once each, that the handler or the rescue could not.
    fn resend(&mut self, signals: u32) {
        if signals == 0 {
            return;
        }
        let found = self.search();
        for _ in 0..signals {
            self.last_resend = match self.send_late(found) {
                Ok(tid) => {
                    count(&self.shared.totals.forwarded);
                    // A signal that a former catcher lost is answered by the dump that follows now.
                    self.delivery = Delivery::default();
                    Forwarded::LateToCatcher { tid }
                }
                Err(errno) => Forwarded::Failed { errno },
            };
        }
    }

    /// Forwards to the catcher signals that a previous handler looped back to ours.
    fn end_loops(&mut self, signals: u32) {
        if signals == 0 {
            return;
        }
        let found = self.search();
        for _ in 0..signals {
            let _ = self.send_late(found);
        }
    }

    /// Sends to the thread that [`Poller::search`] found; a failure is final and counted.
    fn send_late(&self, found: Option<i32>) -> Result<i32, i32> {
        let shared = self.shared;
        let sent = match found {
            _ if shared.withhold.load(Ordering::Relaxed) => Err(0),
            Some(tid) => shared.send_to(tid).map(|()| tid),
            None => Err(libc::ESRCH),
        };
        sent.inspect_err(|_| count(&shared.totals.failed))
    }

    /// Sends a signal once more that a former catcher may have lost, if there is a new catcher.
    fn recheck(&mut self) {
        let Some(until) = self.recheck_until else { return };
        if let Ok(Some(found)) = catcher::find(self.shared.refused.load(Ordering::Acquire)) {
            self.send_once_more(found);
            self.recheck_until = None;
        } else if until <= Instant::now() {
            self.recheck_until = None;
        }
    }

    /// Searches for the catcher, for up to a second: it may be starting, or no file descriptor may be free at the moment.
    /// The handler uses the result from then on.
    fn search(&self) -> Option<i32> {
        let give_up = Instant::now() + SEARCH_TIMEOUT;
        let found = loop {
            match catcher::find(self.shared.refused.load(Ordering::Acquire)) {
                Ok(Some(tid)) => break Some(tid),
                _ if self.stop.load(Ordering::Acquire) || give_up <= Instant::now() => break None,
                _ => std::thread::park_timeout(SEARCH_INTERVAL),
            }
        };
        self.shared.catcher.store(found.unwrap_or(0), Ordering::Release);
        found
    }

    /// Checks whether the thread that got a signal is the catcher and takes it; returns the receiver if the signal had to be sent
    /// once more.
    ///
    /// The tid may have been reused by another thread, which then has a signal pending that it never waits for (blocked,
    /// harmless) while the catcher waits for it. Or the catcher is ending with the signal untaken. Or it ends and has nothing
    /// pending: then it is unknown whether it took the signal, and twice is better than never. A thread that was only
    /// renamed stays the catcher if there is no other of that name.
    fn check_receiver(&mut self, tid: i32) -> Option<Forwarded> {
        if self.shared.withhold.load(Ordering::Relaxed) {
            return None;
        }
        let fate = self.delivery.sent_to(tid);
        match catcher::is_still_there(tid) {
            Ok(false) => {}
            // An error proves nothing.
            Ok(true) | Err(_) => return None,
        }
        let ends = matches!(task::lives(tid), Ok(false));
        if fate == Fate::Lost {
            self.resend(1);
            return Some(self.last_resend);
        }
        let Some(found) = catcher::find(tid).ok().flatten() else {
            if fate == Fate::Unknown {
                self.recheck_until = Some(Instant::now() + SEARCH_TIMEOUT);
            }
            return None;
        };
        if ends && fate == Fate::Consumed {
            self.shared.catcher.store(found, Ordering::Release);
            return None;
        }
        self.delivery = Delivery::default();
        self.send_once_more(found)
    }

    /// Sends a signal that went to another thread to the catcher that was found since, and counts it as one more: that many were
    /// sent, whether the first arrived or not.
    fn send_once_more(&self, found: i32) -> Option<Forwarded> {
        self.shared.catcher.store(found, Ordering::Release);
        self.shared.send_to(found).ok()?;
        count(&self.shared.totals.forwarded);
        Some(Forwarded::LateToCatcher { tid: found })
    }

    fn report(&mut self, sensed: Sensed) {
        let Some(observer) = self.observer.as_mut() else { return };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| observer(sensed))) {
            self.shared.armed.store(false, Ordering::Release);
            // Dropping the observer after its panic may panic again.
            std::mem::forget(panic);
            std::mem::forget(self.observer.take());
        }
    }
}
