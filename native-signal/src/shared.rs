//! The state that the handler, our thread and the API share: one value per process, never freed.
//!
//! It is leaked on purpose. A handler may run at any time, also after [`crate::Sensor::uninstall`] where a later
//! handler still chains to ours, and nothing signals when the last one has returned.
//!
//! There is no file descriptor in it. Other code in the app may close ours, or all, and then the number is another file: the
//! handler would write into it, and our thread read from it. The handler wakes our thread by a futex on a word of this value.

use crate::altstack::AltStack;
use crate::displaced::Displacement;
use crate::previous::Action;
use crate::slots::Slots;
use crate::task;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Counters of the sensor, which only grow.
#[derive(Default)]
pub(crate) struct Totals {
    pub(crate) sensed: AtomicU64,
    pub(crate) forwarded: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) merged: AtomicU64,
    pub(crate) rescued: AtomicU64,
    pub(crate) wakeups: AtomicU64,
}

/// Adds one, relaxed.
pub(crate) fn count(number: &AtomicU64) {
    number.fetch_add(1, Ordering::Relaxed);
}

#[derive(Default)]
pub(crate) struct Shared {
    /// The process that installed the sensor. A different pid is a child that shares or copied this memory.
    pub(crate) pid: i32,
    /// The futex word: changes with each wake-up of our thread.
    wakes: AtomicU32,
    /// Whether a SIGQUIT was seen pending for the process and our thread watches it.
    pub(crate) pending: AtomicBool,
    /// Whether signals are noted. If not, the handler only forwards.
    pub(crate) armed: AtomicBool,
    /// For the test that a lost signal is detected: take and note signals without forwarding them.
    pub(crate) withhold: AtomicBool,
    /// The thread to forward to, 0 if none is known. Written by our thread, read by the handler.
    pub(crate) catcher: AtomicI32,
    /// A thread that has the catcher's name but ran our handler: never forward to it again.
    pub(crate) refused: AtomicI32,
    /// The previous handler, called instead of forwarding. Points to a leaked value or is null.
    previous: AtomicPtr<Action>,
    pub(crate) slots: Slots,
    /// Signals that the handler could not forward and leaves to our thread.
    pub(crate) unforwarded: AtomicU32,
    /// Signals that a previous handler looped back to ours, with no known catcher to end at. They are counted
    /// and noted by the call that the chain began with.
    pub(crate) looped_back: AtomicU32,
    /// Signals that the rescue noted and sent to a thread of the previous handler.
    pub(crate) resent: AtomicU32,
    pub(crate) totals: Totals,
    /// The `pthread_t` in which we unblocked SIGQUIT, 0 if in none.
    pub(crate) opened: AtomicUsize,
    /// The alternate stack of that thread, if it had none.
    pub(crate) altstack: AltStack,
    /// Which handler was before ours at the last check.
    pub(crate) displaced: Displacement,
    /// Whether the leader blocks SIGQUIT again because other code removed our handler.
    pub(crate) reset: AtomicBool,
}

static SHARED: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());

/// The state that install and uninstall share; locked while either runs.
pub(crate) struct Chain {
    /// Whether our handler is the current one, or a later one may chain to it.
    pub(crate) has_ours: bool,
    /// Whether there is a sensor that was not uninstalled.
    pub(crate) has_sensor: bool,
}

pub(crate) static CHAIN: Mutex<Chain> = Mutex::new(Chain { has_ours: false, has_sensor: false });

impl Shared {
    /// The state of this process, if the sensor was ever installed. Safe in a signal handler.
    pub(crate) fn get() -> Option<&'static Shared> {
        let shared = SHARED.load(Ordering::Acquire);
        // SAFETY: the pointer is null or came from `Box::leak` in `get_or_make` and is never freed; all that changes
        // behind it is atomic.
        unsafe { shared.as_ref() }
    }

    /// The state of this process, allocated at the first call. The caller holds [`CHAIN`].
    pub(crate) fn get_or_make() -> &'static Shared {
        if let Some(shared) = Shared::get() {
            return shared;
        }
        let shared = Box::leak(Box::new(Shared { pid: task::process_id(), ..Shared::default() }));
        SHARED.store(shared, Ordering::Release);
        shared
    }

    /// The previous handler, if it is a real one.
    pub(crate) fn previous(&self) -> Option<&'static Action> {
        // SAFETY: the pointer is null or came from `Box::leak` in `set_previous`, and what it points to never changes.
        unsafe { self.previous.load(Ordering::Acquire).as_ref() }
    }

    /// Replaces the previous handler. The former value is leaked: a running handler may use it.
    pub(crate) fn set_previous(&self, previous: Option<Action>) {
        let leaked: *mut Action = previous.map_or(ptr::null_mut(), |action| Box::leak(Box::new(action)));
        self.previous.store(leaked, Ordering::Release);
    }

    /// Wakes our thread: a store and one `futex` (man 2 futex). Safe in a signal handler: it is a plain system call.
    pub(crate) fn wake(&self) {
        // Release: what was noted before is there for the thread that sees the new value.
        self.wakes.fetch_add(1, Ordering::Release);
        self.futex(libc::FUTEX_WAKE, 1, ptr::null());
    }

    /// How often our thread was woken, to be read before the state that the wake-ups announce, and passed to [`Shared::sleep`].
    pub(crate) fn wakes(&self) -> u32 {
        self.wakes.load(Ordering::Acquire)
    }

    /// Sleeps until [`Shared::wake`] was called more often than `seen` says, or for this long (`None`: without limit). May return early.
    pub(crate) fn sleep(&self, seen: u32, longest: Option<Duration>) {
        let timeout = longest.map(|longest| libc::timespec {
            tv_sec: longest.as_secs().try_into().unwrap_or(libc::time_t::MAX),
            tv_nsec: longest.subsec_nanos() as _,
        });
        self.futex(libc::FUTEX_WAIT, seen, timeout.as_ref().map_or(ptr::null(), ptr::from_ref));
    }

    fn futex(&self, operation: i32, value: u32, timeout: *const libc::timespec) {
        let word = self.wakes.as_ptr();
        let operation = operation | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: the word lives as long as the process, and the timeout is null or a timespec that lives for the call. The
        // caller reads its memory again after any result.
        let _ = unsafe { libc::syscall(libc::SYS_futex, word, operation, value, timeout) };
    }

    /// Sends SIGQUIT to one thread of this process (man 2 tgkill). Safe in a signal handler.
    pub(crate) fn send_to(&self, tid: i32) -> Result<(), i32> {
        task::send(self.pid, tid, libc::SIGQUIT)
    }
}
