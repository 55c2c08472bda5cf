//! Rescues signals that stay pending because the leader, for which the kernel queued them, cannot run.
//!
//! A leader in uninterruptible sleep (the parent of a `vfork`, a slow disk) with SIGQUIT unblocked is still the kernel's first
//! choice, so neither our handler nor the catcher gets the signal before that sleep ends. Any thread that blocks SIGQUIT can
//! see it (man 2 sigpending) and take it (man 2 sigtimedwait), without a file descriptor that other code could close.
//!
//! Nothing wakes a thread for such a signal, and no thread should poll without need. So the check is made by a thread that is
//! awake because main is late: [`check_pending`] is called at each wake-up of [`crate::StallTimer`].

use crate::catcher;
use crate::mask;
use crate::sensed::{Forwarded, Sensed};
use crate::shared::{Shared, count};
use crate::task;
use std::ptr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The longest interval between two checks while no receiver for a pending signal is found; it is left pending.
const LONGEST_WATCH: Duration = Duration::from_secs(5);

/// SIGQUIT alone, as a signal set of the kernel's system calls: 8 bytes, bit 0 being signal 1.
const ONLY_SIGQUIT: u64 = 1 << (libc::SIGQUIT - 1);

/// Checks whether a SIGQUIT is pending for the process, and wakes the sensor's thread if so: a signal that is still pending after
/// [`crate::Config::rescue_after`] is taken there and forwarded.
///
/// Call it on a thread that blocks SIGQUIT ([`crate::spawn_quiet`]; on another nothing is ever found) while the main thread appears
/// stuck, every 20 ms or so: at each wake-up of [`crate::StallTimer`]. One system call; a futex at the first sight of a signal.
/// Does nothing if no sensor is installed.
pub fn check_pending() {
    let Some(shared) = Shared::get() else { return };
    if shared.pid == task::process_id() && is_pending() && !shared.pending.swap(true, Ordering::AcqRel) {
        shared.wake();
    }
}

/// Whether the process, or the calling thread itself, has a blocked SIGQUIT waiting.
fn is_pending() -> bool {
    let mut set = 0u64;
    // SAFETY: room for the kernel's set, of the length that is said (man 2 rt_sigpending).
    let result = unsafe { libc::syscall(libc::SYS_rt_sigpending, &raw mut set, size_of::<u64>()) };
    result == 0 && set & ONLY_SIGQUIT != 0
}

/// Takes the SIGQUIT that is pending for the process, if there is one, and returns its si_code, si_pid and si_uid. Does not wait.
fn take() -> Option<(i32, i32, u32)> {
    // SAFETY: `siginfo_t` is plain data, for which all zeroes is a value.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // The kernel's timespec has eight or sixteen bytes, by the size of its `long`.
    let at_once = [0u64; 2];
    // SAFETY: a set of the length that is said, room for the answer, and a timeout (man 2 rt_sigtimedwait).
    let signal = unsafe {
        libc::syscall(
            libc::SYS_rt_sigtimedwait,
            ptr::from_ref(&ONLY_SIGQUIT),
            ptr::from_mut(&mut info),
            at_once.as_ptr(),
            size_of::<u64>(),
        )
    };
    // SAFETY: filled by the kernel, and every form of SIGQUIT has the sender in this place.
    (signal > 0).then(|| unsafe { (info.si_code, info.si_pid(), info.si_uid()) })
}

/// The watch over a pending signal; part of our thread's loop.
pub(crate) struct Rescue {
    after: Duration,
    watch: Option<Watch>,
}

struct Watch {
    since_ns: u64,
    until: Instant,
    length: Duration,
    /// SIGQUITs sensed so far: if the handler has run since, the pending signal may be another one, and its time starts again.
    sensed: u64,
}

impl Rescue {
    pub(crate) fn new(after: Duration) -> Self {
        Rescue { after, watch: None }
    }

    /// How long to wait at most until the next check.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        self.watch.as_ref().map(|watch| watch.until.saturating_duration_since(Instant::now()))
    }

    fn watch_for(&mut self, shared: &Shared, length: Duration) {
        self.watch = Some(Watch {
            since_ns: crate::clock::boottime_ns(),
            until: Instant::now() + length,
            length,
            sensed: shared.totals.sensed.load(Ordering::Relaxed),
        });
    }

    /// Forwards a signal that has been pending for long enough; the catcher's thread id comes
    /// with it if it was sent there. If the forwarding failed the caller must re-send it: it is no longer pending.
    pub(crate) fn poll(&mut self, shared: &Shared) -> Option<(Sensed, Option<i32>)> {
        if self.watch.is_none() {
            if shared.pending.load(Ordering::Acquire) {
                self.watch_for(shared, self.after);
            }
            return None;
        }
        let sensed = shared.totals.sensed.load(Ordering::Relaxed);
        let watch = self.watch.take_if(|watch| watch.sensed != sensed || watch.until <= Instant::now())?;
        if watch.sensed != sensed {
            // It got through. The next check says whether another one is pending.
            shared.pending.store(false, Ordering::Release);
            return None;
        }
        let Some(target) = target(shared) else {
            self.watch_for(shared, (watch.length * 2).min(LONGEST_WATCH));
            return None;
        };
        shared.pending.store(false, Ordering::Release);
        // Not pending any more: its thread got to run after all, and took it.
        let (si_code, si_pid, si_uid) = take()?;
        let catcher = match target {
            Target::Catcher(tid) => Some(tid),
            Target::PreviousHandler(_) => None,
        };
        let forwarded = send(shared, target);
        if let Forwarded::Rescued { .. } = forwarded {
            count(&shared.totals.forwarded);
            count(&shared.totals.rescued);
        }
        count(&shared.totals.sensed);
        let sensed = Sensed { time_ns: watch.since_ns, si_code, si_pid, si_uid, forwarded };
        Some((sensed, catcher))
    }
}

enum Target {
    Catcher(i32),
    /// A thread on which the previous handler can run (through ours).
    PreviousHandler(i32),
}

/// The receiver of a rescued signal. The previous handler is never called from here: it may depend on the thread it runs on.
fn target(shared: &Shared) -> Option<Target> {
    let catcher = || {
        let known = Some(shared.catcher.load(Ordering::Acquire)).filter(|&tid| tid != 0);
        match catcher::find(shared.refused.load(Ordering::Acquire)) {
            Ok(Some(found)) => Some(found),
            // Other code may have renamed it; it counts as long as it lives.
            Ok(None) => known.filter(|&tid| matches!(task::lives(tid), Ok(true))),
            // No file descriptor is free for a search; an app that leaks them may hang as well.
            Err(_) => known,
        }
    };
    if shared.previous().is_none() {
        // SIGQUIT is blocked in the leader: the signal waits for a busy catcher, as it would without us.
        if shared.opened.load(Ordering::Acquire) == 0 && !mask::is_open_on_the_leader() {
            return None;
        }
        return catcher().map(Target::Catcher);
    }
    // The catcher in `sigwait` reads as unblocked too.
    let runs_handlers = |tid: i32| {
        Ok(tid != shared.pid
            && task::status(tid)?.is_some_and(|status| status.is_open(libc::SIGQUIT) && status.state != 'D')
            && !catcher::has_the_name(tid)?
            && task::lives(tid)?)
    };
    let previous = task::find(runs_handlers).ok()?.map(Target::PreviousHandler);
    previous.or_else(|| catcher().map(Target::Catcher))
}

fn send(shared: &Shared, target: Target) -> Forwarded {
    let (tid, result) = match target {
        _ if shared.withhold.load(Ordering::Relaxed) => return Forwarded::Failed { errno: 0 },
        Target::Catcher(tid) => (tid, shared.send_to(tid)),
        Target::PreviousHandler(tid) => {
            // Our handler will run there; it must forward this signal without noting it a second time.
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
