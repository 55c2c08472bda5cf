//! The thread "anrscope-signal": reads the notes, pays what the handler owes, rescues, calls the observer.

use crate::catcher;
use crate::mask;
use crate::mode::LastError;
use crate::rescue::Rescue;
use crate::sensed::{Forwarded, Sensed};
use crate::shared::{Shared, count};
use crate::task;
use crate::unread::{Fate, Unread};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The thread's name; fifteen characters are all that the kernel keeps.
pub(crate) const NAME: &str = "anrscope-signal";

/// Its nice value: a little behind the app's threads.
///
/// The handler wakes it before the catcher has run. Where they share a processor it would run first and make the dump wait.
/// Not more than a little: main may be slow *because* everything is busy, and this thread rescues.
const NICE: i32 = 5;

/// How long, and how often meanwhile, a catcher is looked for that is not there: it may just be starting.
const SEARCH_FOR: Duration = Duration::from_secs(1);
const SEARCH_EVERY: Duration = Duration::from_millis(50);

/// What the API is called with for each signal.
pub(crate) type Observer = Box<dyn FnMut(Sensed) + Send>;

/// Starts the thread. It ends when `stop` is set and it is woken.
pub(crate) fn start(
    shared: &'static Shared,
    observer: Observer,
    rescue: Option<Rescue>,
    stop: Arc<AtomicBool>,
) -> io::Result<JoinHandle<()>> {
    let late = Forwarded::Failed { errno: libc::ESRCH };
    let unread = Unread::default();
    mask::spawn_quiet(NAME, move || {
        // SAFETY: three integers. On Linux this is about the calling thread alone (man 2 setpriority); a refusal leaves
        // it as it was, which is slower and no worse.
        unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICE) };
        Poller { shared, observer: Some(observer), rescue, unread, doubt: None, stop, late }.run();
    })
}

struct Poller {
    shared: &'static Shared,
    /// Gone after it panicked: from then on signals are only passed on.
    observer: Option<Observer>,
    rescue: Option<Rescue>,
    unread: Unread,
    /// Until when a signal is owed to a catcher that comes: the one that got it was gone before anybody looked.
    doubt: Option<Instant>,
    stop: Arc<AtomicBool>,
    /// How the last attempt to pay went.
    late: Forwarded,
}

impl Poller {
    fn run(mut self) {
        // Not looked for at the installation if an older handler is called instead.
        if self.shared.catcher.load(Ordering::Acquire) == 0
            && let Ok(Some(found)) = catcher::find(self.shared.refused.load(Ordering::Acquire))
        {
            let _ = self.shared.catcher.compare_exchange(0, found, Ordering::AcqRel, Ordering::Relaxed);
        }
        // What was noted before this thread was there is handed out at once.
        let mut seen = self.shared.wakes().wrapping_sub(1);
        loop {
            // Read before the wait, for an observer that dropped its own sensor, and before the slots: what was noted
            // until the stop is told.
            let stop = self.stop.load(Ordering::Acquire);
            if !stop {
                self.shared.sleep(seen, self.time_left());
                count(&self.shared.tally.wakeups);
                // Before the slots are read: a handler that fills one later wakes later too.
                seen = self.shared.wakes();
            }
            self.hand_out();
            if stop {
                return;
            }
            if let Some((mut sensed, catcher)) =
                self.rescue.as_mut().and_then(|rescue| rescue.look(self.shared))
            {
                match (sensed.forwarded, catcher) {
                    (Forwarded::Rescued { .. }, Some(tid)) => {
                        self.look_again(tid);
                    }
                    // Its thread ended between the search and the sending.
                    (Forwarded::Failed { .. }, _) => {
                        self.pay(1);
                        sensed.forwarded = self.late;
                    }
                    _ => {}
                }
                self.tell(sensed);
            }
            // One that is gone, and with which the signal lay when last seen, is as good as one that ends.
            if let Some(Fate::Lost | Fate::Unknown) = self.unread.look() {
                self.pay(1);
            }
            self.settle_doubt();
        }
    }

    /// How long there is nothing to do but to wait for a wake-up.
    fn time_left(&self) -> Option<Duration> {
        let rescue_left = self.rescue.as_ref().and_then(Rescue::time_left);
        let doubt_left = self.doubt.is_some().then_some(SEARCH_EVERY);
        rescue_left.into_iter().chain(self.unread.time_left()).chain(doubt_left).min()
    }

    fn hand_out(&mut self) {
        let drained = self.shared.slots.drain();
        if drained.iter().next().is_some() {
            // A dump follows the last request: whoever gets the later signal answers the earlier one.
            self.doubt = None;
        }
        // After the slots: a handler owes before it notes, so what is owed for these notes is in the number.
        self.pay(self.shared.owed.swap(0, Ordering::AcqRel));
        self.end_chains(self.shared.unended.swap(0, Ordering::AcqRel));
        // One look for all of them: what one thread has not taken is one signal.
        let last = drained.iter().filter_map(|sensed| match sensed.forwarded {
            Forwarded::ToCatcher { tid } => Some(tid),
            _ => None,
        });
        let moved = last.last().and_then(|tid| self.look_again(tid));
        for mut sensed in drained.iter() {
            match sensed.forwarded {
                Forwarded::Failed { .. } => sensed.forwarded = self.late,
                Forwarded::ToCatcher { .. } => sensed.forwarded = moved.unwrap_or(sensed.forwarded),
                _ => {}
            }
            self.tell(sensed);
        }
    }

    /// Hands on, once each, what the handler or the rescue could not.
    fn pay(&mut self, owed: u32) {
        if owed == 0 {
            return;
        }
        let found = self.search();
        for _ in 0..owed {
            self.late = match self.send_late(found) {
                Ok(tid) => {
                    count(&self.shared.tally.forwarded);
                    // What a former one took away with it is answered by the dump that comes now.
                    self.unread = Unread::default();
                    Forwarded::LateToCatcher { tid }
                }
                Err(errno) => Forwarded::Failed { errno },
            };
        }
    }

    /// Hands to the catcher what an older handler brought back to ours.
    fn end_chains(&mut self, unended: u32) {
        if unended == 0 {
            return;
        }
        let found = self.search();
        for _ in 0..unended {
            let _ = self.send_late(found);
        }
    }

    /// Sends to what [`Poller::search`] found; a failure is final and is counted as one.
    fn send_late(&self, found: Option<i32>) -> Result<i32, i32> {
        let shared = self.shared;
        let sent = match found {
            _ if shared.withhold.load(Ordering::Relaxed) => Err(0),
            Some(tid) => shared.send_to(tid).map(|()| tid),
            None => Err(libc::ESRCH),
        };
        sent.inspect_err(|_| {
            count(&shared.tally.failed);
            shared.last_error.store(LastError::CatcherGone as u32, Ordering::Relaxed);
        })
    }

    /// Sends once more what a catcher may have taken away with it, should there be another one.
    fn settle_doubt(&mut self) {
        let Some(until) = self.doubt else { return };
        if let Ok(Some(found)) = catcher::find(self.shared.refused.load(Ordering::Acquire)) {
            self.send_once_more(found);
            self.doubt = None;
        } else if until <= Instant::now() {
            self.doubt = None;
        }
    }

    /// Looks for the catcher, for a second if need be: it may be starting, or no file descriptor may be free just now.
    /// The handler knows it from then on.
    fn search(&self) -> Option<i32> {
        let give_up = Instant::now() + SEARCH_FOR;
        let found = loop {
            match catcher::find(self.shared.refused.load(Ordering::Acquire)) {
                Ok(Some(tid)) => break Some(tid),
                _ if self.stop.load(Ordering::Acquire) || give_up <= Instant::now() => break None,
                _ => std::thread::park_timeout(SEARCH_EVERY),
            }
        };
        self.shared.catcher.store(found.unwrap_or(0), Ordering::Release);
        found
    }

    /// Looks whether the thread that got a signal is the catcher and takes it; where it went if it had to be sent once
    /// more.
    ///
    /// The tid may have gone to another thread, which then holds a signal that it never asked for (pending, blocked,
    /// harmless) while the catcher waits for it. Or the catcher is ending with the signal untaken. Or it ends and nothing
    /// lies with it: then nobody knows whether it took the signal, and twice is better than never. A thread that was only
    /// renamed stays the catcher where there is no other of that name: nothing better is known.
    fn look_again(&mut self, tid: i32) -> Option<Forwarded> {
        if self.shared.withhold.load(Ordering::Relaxed) {
            return None;
        }
        let fate = self.unread.sent_to(tid);
        match catcher::is_still_there(tid) {
            Ok(false) => {}
            // An error tells nothing.
            Ok(true) | Err(_) => return None,
        }
        let ends = matches!(task::lives(tid), Ok(false));
        if fate == Fate::Lost {
            self.pay(1);
            return Some(self.late);
        }
        let Some(found) = catcher::find(tid).ok().flatten() else {
            if fate == Fate::Unknown {
                self.doubt = Some(Instant::now() + SEARCH_FOR);
            }
            return None;
        };
        if ends && fate == Fate::Taken {
            self.shared.catcher.store(found, Ordering::Release);
            return None;
        }
        self.unread = Unread::default();
        self.send_once_more(found)
    }

    /// Sends to a catcher that was found anew what went to another thread, and counts it as one more: that many were
    /// sent, whatever became of the first.
    fn send_once_more(&self, found: i32) -> Option<Forwarded> {
        self.shared.catcher.store(found, Ordering::Release);
        self.shared.send_to(found).ok()?;
        count(&self.shared.tally.forwarded);
        Some(Forwarded::LateToCatcher { tid: found })
    }

    fn tell(&mut self, sensed: Sensed) {
        let Some(observer) = self.observer.as_mut() else { return };
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| observer(sensed))) {
            self.shared.armed.store(false, Ordering::Release);
            self.shared.last_error.store(LastError::ObserverPanicked as u32, Ordering::Relaxed);
            // Dropping what a panic left behind may panic again.
            std::mem::forget(panic);
            std::mem::forget(self.observer.take());
        }
    }
}
