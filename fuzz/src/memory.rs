//! How much memory a reader may take of an input.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Counts what is allocated, and the most there ever was.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is handed to the system's allocator as it came; counting touches no memory of it.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// What a reader may take however short its input is.
const BASE: usize = 64 << 20;

/// Runs `body` on an input of `length` bytes.
///
/// # Panics
/// If it takes more than 64 MiB and `times` its input.
pub fn bounded(length: usize, times: usize, body: impl FnOnce()) {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    body();
    let used = MOST.load(Ordering::Relaxed).saturating_sub(before);
    let bound = BASE + times * length;
    assert!(used <= bound, "{used} bytes of memory for an input of {length}: {bound} are allowed");
}
