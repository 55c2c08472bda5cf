//! What the handler, our thread and the API share: one value a process, never freed.
//!
//! It is leaked on purpose. A handler may run at any time, also after [`crate::Sensor::uninstall`] where a later
//! handler still chains to ours, and nothing tells when the last one has returned.
//!
//! There is no file descriptor in it. Other code in the app may close ours, or all, and then the number is another file: the
//! handler would write into it, and our thread read from it. The handler wakes our thread by a futex on a word of this value.

use crate::altstack::AltStack;
use crate::displaced::Look;
use crate::older::Action;
use crate::slots::Slots;
use crate::task;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// Numbers that only grow.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) sensed: AtomicU64,
    pub(crate) forwarded: AtomicU64,
    pub(crate) failed: AtomicU64,
    pub(crate) merged: AtomicU64,
    pub(crate) rescued: AtomicU64,
    pub(crate) wakeups: AtomicU64,
}

/// Adds one; on its own a relaxed count.
pub(crate) fn count(number: &AtomicU64) {
    number.fetch_add(1, Ordering::Relaxed);
}

pub(crate) struct Shared {
    /// The process that installed. Another one is a child that shares or copied this memory.
    pub(crate) pid: i32,
    /// Changes with each wake-up of our thread, which waits for that.
    wakes: AtomicU32,
    /// A SIGQUIT was seen pending for the process, and our thread is to watch it or does.
    pub(crate) pending: AtomicBool,
    /// Notes are taken. Off: the handler only passes on.
    pub(crate) armed: AtomicBool,
    /// For the proof that a lost signal is noticed: take, note, hand on to nobody.
    pub(crate) withhold: AtomicBool,
    /// The thread to forward to, 0 if none is known. Written by our thread, read by the handler.
    pub(crate) catcher: AtomicI32,
    /// A thread that bears the catcher's name and yet ran our handler: never forward to it again.
    pub(crate) refused: AtomicI32,
    /// A real handler that was there before: called instead of forwarding. Points to a leaked value or is null.
    older: AtomicPtr<Action>,
    pub(crate) slots: Slots,
    /// Signals that the handler could not hand on and leaves to our thread.
    pub(crate) owed: AtomicU32,
    /// Chains of an older handler that came back to ours, and that nobody was known to end at. Their signals are counted
    /// and noted by the call that the chain began with.
    pub(crate) unended: AtomicU32,
    /// Signals that a rescue sent to a thread of the older handler: it has noted them already.
    pub(crate) resent: AtomicU32,
    pub(crate) tally: Tally,
    /// 0 or the code of a [`crate::LastError`].
    pub(crate) last_error: AtomicU32,
    /// The `pthread_t` in which we opened SIGQUIT, 0 if in none.
    pub(crate) opened: AtomicUsize,
    /// The alternate stack of that thread, if it had none.
    pub(crate) altstack: AltStack,
    /// Who stood before us when last looked.
    pub(crate) displaced: Look,
    /// The leader blocks SIGQUIT again because other code had taken our handler away.
    pub(crate) reset: AtomicBool,
}

static SHARED: AtomicPtr<Shared> = AtomicPtr::new(ptr::null_mut());

/// What install and uninstall must agree on; held while either is at work.
pub(crate) struct Chain {
    /// Our handler is the current one, or a later one may chain to it.
    pub(crate) has_ours: bool,
    /// There is a sensor that was not uninstalled.
    pub(crate) has_sensor: bool,
}

pub(crate) static CHAIN: Mutex<Chain> = Mutex::new(Chain { has_ours: false, has_sensor: false });

impl Shared {
    /// The one of this process, if it was ever made. Safe in a signal handler.
    pub(crate) fn get() -> Option<&'static Shared> {
        let shared = SHARED.load(Ordering::Acquire);
        // SAFETY: the pointer is null or came from `Box::leak` in `get_or_make` and is never freed; all that changes
        // behind it is atomic.
        unsafe { shared.as_ref() }
    }

    /// Makes it at the first call. The caller holds [`CHAIN`].
    pub(crate) fn get_or_make() -> &'static Shared {
        if let Some(shared) = Shared::get() {
            return shared;
        }
        let shared = Box::leak(Box::new(Shared {
            pid: task::process_id(),
            wakes: AtomicU32::new(0),
            pending: AtomicBool::new(false),
            armed: AtomicBool::new(false),
            withhold: AtomicBool::new(false),
            catcher: AtomicI32::new(0),
            refused: AtomicI32::new(0),
            older: AtomicPtr::new(ptr::null_mut()),
            slots: Slots::new(),
            owed: AtomicU32::new(0),
            unended: AtomicU32::new(0),
            resent: AtomicU32::new(0),
            tally: Tally::default(),
            last_error: AtomicU32::new(0),
            opened: AtomicUsize::new(0),
            altstack: AltStack::none(),
            displaced: Look::new(),
            reset: AtomicBool::new(false),
        }));
        SHARED.store(shared, Ordering::Release);
        shared
    }

    /// The real handler before ours.
    pub(crate) fn older(&self) -> Option<&'static Action> {
        // SAFETY: the pointer is null or came from `Box::leak` in `set_older`, and what it points to never changes.
        unsafe { self.older.load(Ordering::Acquire).as_ref() }
    }

    /// Replaces the older handler. The former one is leaked: a running handler may hold it.
    pub(crate) fn set_older(&self, older: Option<Action>) {
        let leaked: *mut Action = older.map_or(ptr::null_mut(), |action| Box::leak(Box::new(action)));
        self.older.store(leaked, Ordering::Release);
    }

    /// Wakes our thread: a store and one `futex` (man 2 futex). Safe in a signal handler: it is a plain system call.
    pub(crate) fn wake(&self) {
        // Release: what was noted before is there for the thread that sees the new value.
        self.wakes.fetch_add(1, Ordering::Release);
        self.futex(libc::FUTEX_WAKE, 1, ptr::null());
    }

    /// How often it was woken, to be read before what the wake-ups are about and given to [`Shared::sleep`].
    pub(crate) fn wakes(&self) -> u32 {
        self.wakes.load(Ordering::Acquire)
    }

    /// Sleeps until [`Shared::wake`] was called more often than `seen` says, or for this long (`None`: for ever). May return early.
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
        // SAFETY: the word lives as long as the process, and the timeout is null or a timespec that lives for the call. Whatever
        // the kernel answers, the caller looks at its memory again.
        let _ = unsafe { libc::syscall(libc::SYS_futex, word, operation, value, timeout) };
    }

    /// Sends SIGQUIT to one thread of this process (man 2 tgkill). Safe in a signal handler.
    pub(crate) fn send_to(&self, tid: i32) -> Result<(), i32> {
        task::send(self.pid, tid, libc::SIGQUIT)
    }
}
