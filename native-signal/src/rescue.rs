//! Signals that are stuck: pending for the process while the leader, on which the kernel parked them, cannot run.
//!
//! A leader in uninterruptible sleep (the parent of a `vfork`, a slow disk) with SIGQUIT open is still the kernel's first
//! choice, so neither our handler nor the catcher gets the signal before that sleep ends. A signalfd shows it to any
//! thread. Its poll is woken by every SIGQUIT, but it only *reads* as ready while one is pending, and reading is what
//! takes it; so a normal signal costs one wake-up and is never stolen.

use crate::catcher;
use crate::mask;
use crate::sensed::{Forwarded, Sensed};
use crate::shared::{Shared, count};
use crate::task;
use nix::errno::Errno;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// While nobody can be found to hand a stuck signal to, it is left where it is and looked at ever more rarely.
const LONGEST_WATCH: Duration = Duration::from_secs(5);

/// The watch over pending signals; part of our thread's loop.
pub(crate) struct Rescue {
    pending: SignalFd,
    after: Duration,
    watch: Option<Watch>,
}

struct Watch {
    since_ns: u64,
    until: Instant,
    length: Duration,
    /// If the handler ran in the meantime the pending signal may be another one: its time starts anew.
    sensed: u64,
}

impl Rescue {
    pub(crate) fn new(after: Duration) -> Result<Self, Errno> {
        let flags = SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK;
        Ok(Rescue { pending: SignalFd::with_flags(&mask::only_sigquit(), flags)?, after, watch: None })
    }

    /// What to poll for; nothing while a pending signal is given its time.
    pub(crate) fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        self.watch.is_none().then(|| self.pending.as_fd())
    }

    /// How long to poll at most.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.watch.as_ref().map(|watch| watch.until.saturating_duration_since(Instant::now()))
    }

    /// The poll said that a signal is pending.
    pub(crate) fn seen_pending(&mut self, shared: &Shared) {
        self.watch_for(shared, self.after);
    }

    fn watch_for(&mut self, shared: &Shared, length: Duration) {
        self.watch = Some(Watch {
            since_ns: crate::clock::boottime_ns(),
            until: Instant::now() + length,
            length,
            sensed: shared.tally.sensed.load(Ordering::Relaxed),
        });
    }

    /// Looks whether the time is up, and hands the signal on if it is pending still. The catcher's thread id comes with
    /// it if that is where it went. One that failed is owed: it was taken from where it lay.
    pub(crate) fn look(&mut self, shared: &Shared) -> Option<(Sensed, Option<i32>)> {
        let sensed = shared.tally.sensed.load(Ordering::Relaxed);
        let watch = self.watch.take_if(|watch| watch.sensed != sensed || watch.until <= Instant::now())?;
        if watch.sensed != sensed {
            // It got through. The next poll says whether another one is pending.
            return None;
        }
        let Some(target) = target(shared) else {
            self.watch_for(shared, (watch.length * 2).min(LONGEST_WATCH));
            return None;
        };
        // Nothing there: its thread got to run after all, and took it.
        let info = self.pending.read_signal().ok().flatten()?;
        let catcher = match target {
            Target::Catcher(tid) => Some(tid),
            Target::OlderHandler(_) => None,
        };
        let forwarded = send(shared, target);
        if let Forwarded::Rescued { .. } = forwarded {
            count(&shared.tally.forwarded);
            count(&shared.tally.rescued);
        }
        count(&shared.tally.sensed);
        let sensed = Sensed {
            time_ns: watch.since_ns,
            si_code: info.ssi_code,
            si_pid: info.ssi_pid as i32,
            si_uid: info.ssi_uid,
            forwarded,
        };
        Some((sensed, catcher))
    }
}

enum Target {
    Catcher(i32),
    /// A thread on which the older handler can run (through ours).
    OlderHandler(i32),
}

/// Who is to get a stuck signal. The older handler is never called from here: it may lean on where it runs.
fn target(shared: &Shared) -> Option<Target> {
    let catcher = || {
        let known = Some(shared.catcher.load(Ordering::Acquire)).filter(|&tid| tid != 0);
        match catcher::find(shared.refused.load(Ordering::Acquire)) {
            Ok(Some(found)) => Some(found),
            // Somebody renamed it, as long as it is there.
            Ok(None) => known.filter(|&tid| matches!(task::lives(tid), Ok(true))),
            // No file descriptor is free, so nothing can be looked up; an app that leaks them hangs all the same.
            Err(_) => known,
        }
    };
    if shared.older().is_none() {
        // A leader that nobody opened: the signal waits for a catcher that is busy, as it would without us.
        if shared.opened.load(Ordering::Acquire) == 0 && !mask::is_open_on_the_leader() {
            return None;
        }
        return catcher().map(Target::Catcher);
    }
    // The catcher in `sigwait` reads as open too.
    let runs_handlers = |tid: i32| {
        Ok(tid != shared.pid
            && task::status(tid)?.is_some_and(|status| status.is_open(libc::SIGQUIT) && status.state != 'D')
            && !catcher::has_the_name(tid)?
            && task::lives(tid)?)
    };
    let older = task::find(runs_handlers).ok()?.map(Target::OlderHandler);
    older.or_else(|| catcher().map(Target::Catcher))
}

fn send(shared: &Shared, target: Target) -> Forwarded {
    let (tid, result) = match target {
        _ if shared.withhold.load(Ordering::Relaxed) => return Forwarded::Failed { errno: 0 },
        Target::Catcher(tid) => (tid, shared.send_to(tid)),
        Target::OlderHandler(tid) => {
            // The handler will run there; it must hand this one on without noting it a second time.
            shared.resent.fetch_add(1, Ordering::AcqRel);
            let result = shared.send_to(tid);
            if result.is_err() {
                shared.resent.fetch_sub(1, Ordering::AcqRel);
            }
            (tid, result)
        }
    };
    match result {
        Ok(()) => Forwarded::Rescued { tid },
        Err(errno) => Forwarded::Failed { errno },
    }
}
