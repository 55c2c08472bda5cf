//! The memory that a reader takes of an input.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// Counts what each thread has allocated, and the most it ever had.
struct Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

// SAFETY: every call is handed to the system's allocator as it came; counting touches constant-initialised cells without a destructor,
// so that it allocates nothing itself.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.get() + layout.size().cast_signed();
        NOW.set(now);
        PEAK.set(PEAK.get().max(now));
        // SAFETY: the caller upholds the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.set(NOW.get() - layout.size().cast_signed());
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Returns the most bytes that this thread had allocated at a time while `body` ran, beyond what it had before.
///
/// Other tests run on other threads of the same program, so we count for each thread. What threads of the body's own allocate is not in
/// the figure.
///
/// # Examples
///
/// ```
/// use test_support::memory::taken_by;
/// assert!(taken_by(|| drop(vec![0_u8; 1 << 20])) >= 1 << 20);
/// ```
pub fn taken_by(body: impl FnOnce()) -> usize {
    let before = NOW.get();
    PEAK.set(before);
    body();
    (PEAK.get() - before).max(0).unsigned_abs()
}
