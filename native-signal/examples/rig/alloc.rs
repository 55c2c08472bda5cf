//! The rig's allocator: the system's, and the end of a thread that must not allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicI32, Ordering};

struct Watched;

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// The thread that must not allocate now, 0 for none.
static FORBIDDEN_TO: AtomicI32 = AtomicI32::new(0);

/// From here on the calling thread, and every handler that runs on it, must not allocate or free: else the process
/// aborts.
pub(crate) fn forbid() {
    FORBIDDEN_TO.store(super::art::own_id() as i32, Ordering::SeqCst);
}

/// Until here.
pub(crate) fn permit() {
    FORBIDDEN_TO.store(0, Ordering::SeqCst);
}

fn check() {
    let forbidden = FORBIDDEN_TO.load(Ordering::Relaxed);
    if forbidden != 0 && i64::from(forbidden) == super::art::own_id() {
        // SAFETY: ends the process, by a signal that the judge sees.
        unsafe { libc::abort() };
    }
}

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        check();
        // SAFETY: the caller's promise, passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        check();
        // SAFETY: as above.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        check();
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        check();
        // SAFETY: as above.
        unsafe { System.realloc(place, layout, size) }
    }
}
