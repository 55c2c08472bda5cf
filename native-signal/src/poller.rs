//! The thread "anrscope-signal": reads the notes, pays what the handler owes, rescues, calls the observer.

use crate::catcher;
use crate::error::LastError;
use crate::mask;
use crate::rescue::Rescue;
use crate::sensed::{Forwarded, Sensed};
use crate::shared::{Shared, count};
use crate::task;
use crate::unread::{Fate, Unread};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// The thread's name; fifteen characters are all that the kernel keeps.
pub(crate) const NAME: &str = "anrscope-signal";

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
        Poller { shared, observer: Some(observer), rescue, unread, stop, late }.run();
    })
}

struct Poller {
    shared: &'static Shared,
    /// Gone after it panicked: from then on signals are only passed on.
    observer: Option<Observer>,
    rescue: Option<Rescue>,
    unread: Unread,
    stop: Arc<AtomicBool>,
    /// How the last attempt to pay went.
    late: Forwarded,
}

impl Poller {
    fn run(mut self) {
        loop {
            // Read before the wait, for an observer that dropped its own sensor, and before the slots: what was noted
            // until the stop is told.
            let stop = self.stop.load(Ordering::Acquire);
            if !stop {
                self.wait();
                // Before the slots are read: a handler that fills one later writes the eventfd later too.
                let _ = self.shared.wake.read();
            }
            self.hand_out();
            if stop {
                return;
            }
            if let Some(sensed) = self.rescue.as_mut().and_then(|rescue| rescue.look(self.shared)) {
                if let Forwarded::Rescued { tid } = sensed.forwarded
                    && self.shared.older().is_none()
                {
                    self.look_again(tid);
                }
                self.tell(sensed);
            }
            // One that is gone, and with which the signal lay when last seen, is as good as one that ends.
            if let Some(Fate::Lost | Fate::Unknown) = self.unread.look() {
                self.pay(1);
            }
        }
    }

    /// Sleeps until there may be something to do; spurious returns are harmless.
    fn wait(&mut self) {
        let wake = PollFd::new(self.shared.wake.as_fd(), PollFlags::POLLIN);
        let rescue_left = self.rescue.as_ref().and_then(Rescue::time_left);
        let timeout = match rescue_left.into_iter().chain(self.unread.time_left()).min() {
            // Rounded up: a poll that ends early would spin.
            Some(left) => PollTimeout::try_from(left.as_millis() + 1).unwrap_or(PollTimeout::MAX),
            None => PollTimeout::NONE,
        };
        let pending = self.rescue.as_ref().and_then(Rescue::poll_fd);
        let seen = match pending {
            Some(pending) => {
                let mut both = [wake, PollFd::new(pending, PollFlags::POLLIN)];
                poll(&mut both, timeout).map(|_| both[1].any() == Some(true))
            }
            None => poll(&mut [wake], timeout).map(|_| false),
        };
        match seen {
            Ok(true) => {
                if let Some(rescue) = self.rescue.as_mut() {
                    rescue.seen_pending(self.shared);
                }
            }
            // Interrupted (ART's dump interrupts sleeps, a stop and continue too): the caller comes back.
            Ok(false) | Err(Errno::EINTR) => {}
            // Out of memory in the kernel, or a descriptor closed under us: do not spin.
            Err(_) => std::thread::park_timeout(Duration::from_millis(100)),
        }
    }

    fn hand_out(&mut self) {
        let drained = self.shared.slots.drain();
        // After the slots: a handler owes before it notes, so what is owed for these notes is in the number.
        self.pay(self.shared.owed.swap(0, Ordering::AcqRel));
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

    /// Hands on, once each, what the handler could not.
    fn pay(&mut self, owed: u32) {
        if owed == 0 {
            return;
        }
        let found = self.search();
        self.shared.catcher.store(found.unwrap_or(0), Ordering::Release);
        for _ in 0..owed {
            self.late = match found.map(|tid| (tid, self.shared.send_to(tid))) {
                Some((tid, Ok(()))) => {
                    count(&self.shared.tally.forwarded);
                    Forwarded::LateToCatcher { tid }
                }
                failed => {
                    count(&self.shared.tally.failed);
                    self.shared.last_error.store(LastError::CatcherGone as u32, Ordering::Relaxed);
                    Forwarded::Failed {
                        errno: failed.map_or(libc::ESRCH, |(_, sent)| sent.err().unwrap_or(0)),
                    }
                }
            };
        }
    }

    /// Looks for the catcher, for a second if need be: it may be starting, or no file descriptor may be free just now.
    fn search(&self) -> Option<i32> {
        for _ in 0..20 {
            if let Ok(Some(tid)) = catcher::find(self.shared.refused.load(Ordering::Acquire)) {
                return Some(tid);
            }
            if self.stop.load(Ordering::Acquire) {
                break;
            }
            std::thread::park_timeout(Duration::from_millis(50));
        }
        None
    }

    /// Looks whether the thread that got a signal is the catcher and takes it; where it went if it had to be sent once
    /// more.
    ///
    /// The tid may have gone to another thread, which then holds a signal that it never asked for (pending, blocked,
    /// harmless) while the catcher waits for it. Or the catcher is ending, or has ended: then nobody knows for sure
    /// whether it took the signal, and twice is better than never. A thread that was only renamed stays the catcher
    /// where there is no other of that name: nothing better is known.
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
        let found = catcher::find(tid).ok().flatten()?;
        self.shared.catcher.store(found, Ordering::Release);
        if ends && fate == Fate::Taken {
            return None;
        }
        self.unread = Unread::default();
        self.shared.send_to(found).is_ok().then_some(Forwarded::LateToCatcher { tid: found })
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
