//! The memory of threads' writers: a seat for each, because Java keeps its address and may run in destructors
//! that run after the recorder's. So a seat is reused only when the kernel knows no thread of that tid any more.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::PoisonError;

use crate::gate::Gate;
use crate::sync::plain::Mutex;
use crate::writing::thread::ThreadWriter;

/// A thread's writer and its gate, which Java reads too.
#[repr(C)]
struct Seat {
    /// First: its address is the seat's.
    writer: ThreadWriter,
    gate: Gate,
}

/// The seat of a thread that has ended, or is about to.
struct EndedSeat {
    tid: u32,
    seat: NonNull<Seat>,
}

// SAFETY: the thread that takes it out of the list is its only user, once the former thread is gone.
unsafe impl Send for EndedSeat {}

static ENDED: Mutex<VecDeque<EndedSeat>> = Mutex::new(VecDeque::new());

/// Returns a seat with the writer that `make` makes for its gate. Allocates if no seat is free.
pub(super) fn take(make: impl FnOnce(&'static Gate) -> ThreadWriter) -> NonNull<ThreadWriter> {
    let seat = reuse().unwrap_or_else(|| NonNull::from(Box::leak(Box::<Seat>::new_uninit())).cast());
    // SAFETY: the memory is a seat's, is never freed, and no other thread has it. The gate is written before anything refers to it;
    // so is the writer.
    unsafe {
        let seat = seat.as_ptr();
        (&raw mut (*seat).gate).write(Gate::new());
        (&raw mut (*seat).writer).write(make(&(*seat).gate));
    }
    seat.cast()
}

/// The seat that was left first, if its thread is gone.
fn reuse() -> Option<NonNull<Seat>> {
    let mut left = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    let gone = left.front().is_some_and(|first| is_gone(first.tid));
    let first = left.pop_front()?;
    if gone {
        return Some(first.seat);
    }
    // Another thread may have the tid by now, for long: try the next one later.
    left.push_back(first);
    None
}

/// Returns the seat of the thread `tid`, which ends; [`take`] returned `writer`.
pub(super) fn give_back(tid: u32, writer: NonNull<ThreadWriter>) {
    let mut left = ENDED.lock().unwrap_or_else(PoisonError::into_inner);
    left.push_back(EndedSeat { tid, seat: writer.cast() });
}

/// Whether this process has no such thread: signal 0 only asks (man 2 tgkill).
fn is_gone(tid: u32) -> bool {
    // SAFETY: three numbers.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid as libc::pid_t, 0) };
    sent != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}
