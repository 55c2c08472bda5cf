//! The memory of threads' writers: a seat for each, because Java keeps its address and may run in destructors
//! that run after the recorder's. So a seat is reused only when the kernel knows no thread of that tid any more.

use std::collections::VecDeque;
use std::ptr::NonNull;
use std::sync::PoisonError;

use crate::gate::Gate;
use crate::sync::plain::Mutex;

/// A thread's writer and its gate, which Java reads too.
#[repr(C)]
struct Seat<W> {
    /// First: its address is the seat's.
    writer: W,
    gate: Gate,
}

/// The seat of a thread that has ended, or is about to.
struct EndedSeat<W> {
    tid: u32,
    seat: NonNull<Seat<W>>,
}

// SAFETY: the thread that takes it out of the list is its only user, once the former thread is gone. It overwrites the writer
// and neither reads nor drops the former one.
unsafe impl<W> Send for EndedSeat<W> {}

/// All seats of writers of type `W`.
pub(super) struct Seats<W> {
    ended: Mutex<VecDeque<EndedSeat<W>>>,
}

impl<W: 'static> Seats<W> {
    pub(super) const fn new() -> Self {
        Self { ended: Mutex::new(VecDeque::new()) }
    }

    /// Returns a seat with the writer that `make` makes for its gate. Allocates if no seat is free.
    pub(super) fn take(&self, make: impl FnOnce(&'static Gate) -> W) -> NonNull<W> {
        let seat =
            self.reuse().unwrap_or_else(|| NonNull::from(Box::leak(Box::<Seat<W>>::new_uninit())).cast());
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
    fn reuse(&self) -> Option<NonNull<Seat<W>>> {
        let mut left = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = left.front().is_some_and(|first| is_gone(first.tid));
        let first = left.pop_front()?;
        if gone {
            return Some(first.seat);
        }
        // Another thread may have the tid by now, for long: try the next one later.
        left.push_back(first);
        None
    }

    /// Returns the seat of the thread `tid`, which ends; [`Seats::take`] returned `writer`.
    pub(super) fn give_back(&self, tid: u32, writer: NonNull<W>) {
        let mut left = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        left.push_back(EndedSeat { tid, seat: writer.cast() });
    }
}

/// Returns true if this process has no such thread: signal 0 only asks (man 2 tgkill).
pub fn is_gone(tid: u32) -> bool {
    // SAFETY: three numbers.
    let sent = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid as libc::pid_t, 0) };
    sent != 0 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH)
}
