//! The system calls of a capture, by number: bionic has some of these functions in later versions only.

use nix::errno::Errno;
use std::mem::MaybeUninit;

pub(super) const SI_QUEUE: i32 = -1;
pub(super) const SI_TIMER: i32 = -2;

/// The kernel's `siginfo_t` of a queued signal. A timer's has its number and overruns where `pid` and `uid` are.
#[repr(C)]
pub(super) struct QueuedInfo {
    signal: i32,
    errno: i32,
    pub(super) code: i32,
    #[cfg(target_pointer_width = "64")]
    reserved: i32,
    pub(super) pid: i32,
    uid: u32,
    pub(super) value: usize,
    /// The kernel reads 128 bytes.
    rest: [u64; 12],
}

/// Queues a signal with a cookie to a thread of this process (man 2 rt_tgsigqueueinfo).
pub(super) fn queue(pid: i32, tid: i32, signal: i32, cookie: usize) -> Result<(), Errno> {
    let info = QueuedInfo {
        signal,
        errno: 0,
        code: SI_QUEUE,
        #[cfg(target_pointer_width = "64")]
        reserved: 0,
        pid,
        // SAFETY: the call has no arguments and cannot fail.
        uid: unsafe { libc::getuid() },
        value: cookie,
        rest: [0; 12],
    };
    // SAFETY: integers, and a live structure of the size that the kernel reads.
    Errno::result(unsafe { libc::syscall(libc::SYS_rt_tgsigqueueinfo, pid, tid, signal, &raw const info) })
        .map(drop)
}

/// The kernel's `sigevent`: 64 bytes.
#[repr(C)]
struct Event {
    value: usize,
    signal: i32,
    notify: i32,
    tid: i32,
    rest: [i32; 11],
}

/// The kernel's `itimerspec` for `timer_settime`, whose 32-bit form has 32-bit times.
#[repr(C)]
struct Expiry {
    interval: [libc::c_long; 2],
    value: [libc::c_long; 2],
}

/// A timer on a thread's CPU time, which sends the thread a signal at the first tick at which it runs. Deleted when dropped.
pub(super) struct CpuTimer(libc::c_int);

impl CpuTimer {
    /// Starts a timer (man 2 timer_create).
    pub(super) fn start(tid: i32, signal: i32, cookie: usize) -> Result<Self, Errno> {
        /// `CPUCLOCK_SCHED | CPUCLOCK_PERTHREAD_MASK` of the kernel's `linux/posix-timers.h`: the clock of one thread.
        const OF_A_THREAD: i32 = 2 | 4;
        const SIGEV_THREAD_ID: i32 = 4;
        let clock = (!tid << 3) | OF_A_THREAD;
        let event = Event { value: cookie, signal, notify: SIGEV_THREAD_ID, tid, rest: [0; 11] };
        let mut id = MaybeUninit::<libc::c_int>::uninit();
        // SAFETY: a live structure of the kernel's size and form, and a place for the kernel's `int`.
        Errno::result(unsafe {
            libc::syscall(libc::SYS_timer_create, clock, &raw const event, id.as_mut_ptr())
        })?;
        // SAFETY: the call has filled it.
        let timer = CpuTimer(unsafe { id.assume_init() });
        let expiry = Expiry { interval: [0, 0], value: [0, 1] };
        let old: *mut Expiry = std::ptr::null_mut();
        // SAFETY: our timer, a live structure of the kernel's form, and no place for the old one.
        Errno::result(unsafe { libc::syscall(libc::SYS_timer_settime, timer.0, 0, &raw const expiry, old) })?;
        Ok(timer)
    }
}

impl Drop for CpuTimer {
    fn drop(&mut self) {
        // SAFETY: our timer, deleted once. A signal that it has sent already is late, and known as such by its cookie.
        let _ = unsafe { libc::syscall(libc::SYS_timer_delete, self.0) };
    }
}

/// The handler of a signal: 0 is the default action and 1 ignore.
pub(super) fn handler_of(signal: i32) -> Result<usize, Errno> {
    // SAFETY: `sigaction` is integers, a set of bits and an optional function pointer: all zeroes is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: nothing is set; a live place for the answer.
    Errno::result(unsafe { libc::sigaction(signal, std::ptr::null(), &mut action) })?;
    Ok(action.sa_sigaction)
}

/// Whether loads check memory tags in this process (MTE), which a copy of a stack would not pass.
pub(super) fn checks_tags() -> bool {
    #[cfg(target_arch = "aarch64")]
    {
        const PR_GET_TAGGED_ADDR_CTRL: libc::c_int = 56;
        /// `PR_MTE_TCF_MASK`: faults are reported, at once or later.
        const REPORTED: libc::c_int = 3 << 1;
        // SAFETY: the call has no pointers; a kernel without it answers with an error.
        let control = unsafe { libc::prctl(PR_GET_TAGGED_ADDR_CTRL, 0, 0, 0, 0) };
        control > 0 && control & REPORTED != 0
    }
    #[cfg(not(target_arch = "aarch64"))]
    false
}
