//! What the asking thread and the handler share: one request at a time in a process.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

// The phases of a request. They are not the states of the slot, which outlives the request.
/// No request is under way.
const IDLE: u64 = 0;
/// The signal is sent, and its handler has not started.
const PENDING: u64 = 1;
/// The thread's handler works on it.
const ACCEPTED: u64 = 2;

/// A page, so that the address of each of its bytes is the cookie of a request: no other library sends it, nor a second copy of this one.
#[repr(C, align(4096))]
pub(super) struct Request {
    /// The request's number times 4, plus its phase.
    word: AtomicU64,
    /// The process that installed the handler.
    pub(super) pid: AtomicI32,
    /// Signals that were not ours.
    pub(super) strays: AtomicU32,
    /// Signals of requests that were over.
    pub(super) late: AtomicU32,
    /// Whether the handler must copy through the kernel, which does not check memory tags.
    pub(super) by_kernel: AtomicBool,
    /// The slot to fill.
    pub(super) slot: AtomicPtr<u8>,
    /// The ranges that may hold the thread's stack, in order, and how many.
    pub(super) ranges: AtomicPtr<super::stacks::Range>,
    pub(super) ranges_len: AtomicUsize,
}

pub(super) static REQUEST: Request = Request {
    word: AtomicU64::new(0),
    pid: AtomicI32::new(0),
    strays: AtomicU32::new(0),
    late: AtomicU32::new(0),
    by_kernel: AtomicBool::new(false),
    slot: AtomicPtr::new(ptr::null_mut()),
    ranges: AtomicPtr::new(ptr::null_mut()),
    ranges_len: AtomicUsize::new(0),
};

/// Requests that have a cookie of their own.
const COOKIES: usize = 4096;

impl Request {
    /// Whether no handler works on an earlier request.
    pub(super) fn is_idle(&self) -> bool {
        self.word.load(Ordering::Acquire) & 3 == IDLE
    }

    /// Starts the request of this number. What the handler reads must be stored before.
    pub(super) fn ask(&self, number: u64) {
        self.word.store(number << 2 | PENDING, Ordering::Release);
    }

    /// Ends a request whose handler has not started; false if it has, or is done.
    pub(super) fn withdraw(&self, number: u64) -> bool {
        self.change(number, PENDING, IDLE)
    }

    /// Whether the handler is done with this request.
    pub(super) fn is_done(&self, number: u64) -> bool {
        self.word.load(Ordering::Acquire) == number << 2 | IDLE
    }

    /// What the signal of a request carries.
    pub(super) fn cookie(&self, number: u64) -> usize {
        ptr::from_ref(self).addr() + number as usize % COOKIES
    }

    /// The number of the request that this cookie is for, if the handler now has it; [`Request::done`] must follow.
    #[inline(always)]
    pub(super) fn accept(&self, cookie: usize) -> Option<u64> {
        let low = cookie.wrapping_sub(ptr::from_ref(self).addr());
        if low >= COOKIES {
            self.strays.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        let number = self.word.load(Ordering::Acquire) >> 2;
        if number as usize % COOKIES != low || !self.change(number, PENDING, ACCEPTED) {
            self.late.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(number)
    }

    #[inline(always)]
    pub(super) fn done(&self, number: u64) {
        self.word.store(number << 2 | IDLE, Ordering::Release);
    }

    #[inline(always)]
    fn change(&self, number: u64, from: u64, to: u64) -> bool {
        let (from, to) = (number << 2 | from, number << 2 | to);
        self.word.compare_exchange(from, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
