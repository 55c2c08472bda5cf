//! The function that is called instead of `write`, and the buffer that it fills.
//!
//! There is one hook and one buffer per process. The hook always calls the original, first, and returns what that
//! returned with the `errno` that it left. It takes no lock, allocates nothing and may be interrupted by itself (a
//! signal handler that writes): space is reserved by one atomic exchange and filled afterwards. The code is never
//! unloaded, so a thread that is still in it when the slot is restored returns safely.

use super::error::HookError;
use crate::task;
use nix::errno::Errno;
use std::ffi::{c_int, c_void};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

type Write = unsafe extern "C" fn(c_int, *const c_void, usize) -> isize;

/// The function that the slots held before. Never reset, since threads may still be about to call it.
static ORIGINAL: AtomicUsize = AtomicUsize::new(0);
/// The thread whose writes are copied; 0 for none.
static THREAD: AtomicI32 = AtomicI32::new(0);
/// The number of the capture, so that a write that began in an earlier one does not count for this one.
static ROUND: AtomicUsize = AtomicUsize::new(0);
static BUFFER: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
static CAPACITY: AtomicUsize = AtomicUsize::new(0);
static FILLED: AtomicUsize = AtomicUsize::new(0);
static WRITES: AtomicUsize = AtomicUsize::new(0);
static LOST: AtomicUsize = AtomicUsize::new(0);
/// Writes of the thread that have begun and not returned.
static IN_ORIGINAL: AtomicUsize = AtomicUsize::new(0);
/// How many threads may access the buffer at this moment.
static COPYING: AtomicUsize = AtomicUsize::new(0);
/// Whether the [`Claim`] is taken.
static CLAIMED: AtomicBool = AtomicBool::new(false);
/// Whether a hook could not be removed from a slot.
static LEFT_BEHIND: AtomicBool = AtomicBool::new(false);

/// The address that goes into the slots.
pub(super) fn address() -> usize {
    hooked_write as *const () as usize
}

/// The hook.
unsafe extern "C" fn hooked_write(fd: c_int, from: *const c_void, len: usize) -> isize {
    // SAFETY: the slots get our address after `ORIGINAL` was set to what they held, a function of this signature.
    let original: Write = unsafe { std::mem::transmute::<usize, Write>(ORIGINAL.load(SeqCst)) };
    let thread = THREAD.load(SeqCst);
    if thread == 0 || thread != task::own_id() {
        // SAFETY: the caller's arguments, passed on unchanged.
        return unsafe { original(fd, from, len) };
    }
    let round = ROUND.load(SeqCst);
    IN_ORIGINAL.fetch_add(1, SeqCst);
    // SAFETY: as above.
    let written = unsafe { original(fd, from, len) };
    let errno = Errno::last_raw();
    if let Ok(bytes @ 1..) = usize::try_from(written)
        && is_of_interest(fd)
    {
        // SAFETY: the kernel has just read this many bytes from there.
        unsafe { copy(from.cast(), bytes.min(len), round) };
    }
    IN_ORIGINAL.fetch_sub(1, SeqCst);
    Errno::set_raw(errno);
    written
}

/// Whether a dump may be written to this descriptor: a file, pipe or socket. Not the kernel's tracing files, to which ART's
/// threads write their marks by `write` too.
fn is_of_interest(fd: c_int) -> bool {
    let mut stat = MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `stat` is writable memory of the size and alignment that the call fills.
    if unsafe { libc::fstat(fd, stat.as_mut_ptr()) } != 0 {
        return false;
    }
    // SAFETY: the call has succeeded and filled it.
    let mode = wide(unsafe { stat.assume_init() }.st_mode);
    let is = |kind: i128| mode & wide(libc::S_IFMT) == kind;
    if is(wide(libc::S_IFIFO)) || is(wide(libc::S_IFSOCK)) {
        return true;
    }
    if !is(wide(libc::S_IFREG)) {
        return false;
    }
    let mut system = MaybeUninit::<libc::statfs>::uninit();
    // SAFETY: as for `stat`.
    if unsafe { libc::fstatfs(fd, system.as_mut_ptr()) } != 0 {
        return true;
    }
    // SAFETY: the call has succeeded and filled it.
    let kind = wide(unsafe { system.assume_init() }.f_type);
    kind != wide(libc::TRACEFS_MAGIC) && kind != wide(libc::DEBUGFS_MAGIC)
}

/// These numbers have types of other widths and signs from one target to the next.
fn wide(number: impl Into<i128>) -> i128 {
    number.into()
}

/// # Safety
///
/// `len` bytes from `from` on can be read.
unsafe fn copy(from: *const u8, len: usize, round: usize) {
    // First announce, then check: code that has reset `THREAD` and then finds `COPYING` 0 has the buffer to itself.
    COPYING.fetch_add(1, SeqCst);
    if THREAD.load(SeqCst) != 0 && ROUND.load(SeqCst) == round {
        let capacity = CAPACITY.load(SeqCst);
        let reserved = FILLED.fetch_update(SeqCst, SeqCst, |filled| {
            // A write that does not fit whole leaves its beginning, and nothing after it fits.
            (filled < capacity).then(|| filled.saturating_add(len).min(capacity))
        });
        let fits = match reserved {
            Ok(at) => {
                let fits = len.min(capacity - at);
                // SAFETY: `at..at + fits` of the buffer's `capacity` bytes was reserved for this call alone, and the
                // buffer is not freed while `COPYING` is not 0. The caller guarantees `from`.
                unsafe { std::ptr::copy_nonoverlapping(from, BUFFER.load(SeqCst).add(at), fits) };
                fits
            }
            Err(_) => 0,
        };
        LOST.fetch_add(len - fits, SeqCst);
        WRITES.fetch_add(1, SeqCst);
    }
    COPYING.fetch_sub(1, SeqCst);
}

/// The sole right to the hook's state.
pub(super) struct Claim(());

impl Claim {
    pub(super) fn take() -> Result<Claim, HookError> {
        if CLAIMED.swap(true, SeqCst) {
            return Err(HookError::Busy);
        }
        let claim = Claim(());
        if LEFT_BEHIND.load(SeqCst) {
            return Err(HookError::LeftBehind);
        }
        Ok(claim)
    }

    /// Sets the function that the hook calls. Before the hook goes into a slot.
    pub(super) fn set_original(&self, original: usize) {
        ORIGINAL.store(original, SeqCst);
    }

    /// Notes that the hook could not be removed from a slot.
    pub(super) fn leave_behind(&self) {
        LEFT_BEHIND.store(true, SeqCst);
    }

    /// Starts to copy what this thread writes, up to so many bytes.
    pub(super) fn start(self, thread: i32, capacity: usize) -> Running {
        // Owned by the statics until `Running::stop`.
        let mut buffer = ManuallyDrop::new(vec![0_u8; capacity]);
        BUFFER.store(buffer.as_mut_ptr(), SeqCst);
        CAPACITY.store(buffer.capacity(), SeqCst);
        for counter in [&FILLED, &WRITES, &LOST] {
            counter.store(0, SeqCst);
        }
        ROUND.fetch_add(1, SeqCst);
        THREAD.store(thread, SeqCst);
        Running { claim: self }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        THREAD.store(0, SeqCst);
        CLAIMED.store(false, SeqCst);
    }
}

/// A running capture.
pub(super) struct Running {
    claim: Claim,
}

impl Running {
    /// How many writes were copied or lost so far, and whether one is in progress.
    pub(super) fn progress(&self) -> (usize, bool) {
        (WRITES.load(SeqCst), IN_ORIGINAL.load(SeqCst) != 0)
    }

    /// Stops copying, and returns the bytes, the number of writes, and how many bytes did not fit.
    pub(super) fn stop(self) -> (Claim, Vec<u8>, usize, usize) {
        THREAD.store(0, SeqCst);
        // A copy takes microseconds once its thread runs.
        let begin = Instant::now();
        while COPYING.load(SeqCst) != 0 && begin.elapsed() < Duration::from_secs(5) {
            thread::park_timeout(Duration::from_millis(1));
        }
        let filled = FILLED.load(SeqCst);
        let bytes = if COPYING.load(SeqCst) == 0 {
            let capacity = CAPACITY.load(SeqCst);
            // SAFETY: the parts of the vector that `start` gave away, which only this call reclaims since it consumes
            // the claim. All of it was zeroed, `filled` never exceeds the capacity, and no thread is in `copy` or can
            // access the buffer there any more.
            unsafe { Vec::from_raw_parts(BUFFER.load(SeqCst), filled.min(capacity), capacity) }
        } else {
            // Its thread was stopped in the middle and may continue at any time: the buffer is leaked to it.
            LOST.fetch_add(filled, SeqCst);
            Vec::new()
        };
        (self.claim, bytes, WRITES.load(SeqCst), LOST.load(SeqCst))
    }
}
