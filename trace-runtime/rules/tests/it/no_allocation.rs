//! What runs on the watched thread allocates nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use trace_rules::frame::{Stage, Stages};
use trace_rules::looper::{HISTORY, Lines, Messages, SLOW_MS, Tag};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: hands every call on to the system's allocator unchanged; counting touches a constant-initialised cell without
// destructor, which allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise is ours.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: `pointer` came from `alloc` above, which is the system's.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(work: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.get();
    work();
    ALLOCATIONS.get() - before
}

#[test]
fn a_message_allocates_nothing() {
    let mut messages = Messages::new(HISTORY);
    let mut slow = 0;
    let count = allocations(|| {
        for n in 0..100_000u64 {
            let tag = Tag { target: 1, callback: n as u32, what: 0 };
            messages.begin(n * 1_000_000_000, tag, 4_096);
            if n % 10 == 0 {
                messages.begin(n * 1_000_000_000 + 1, tag, 1_024);
                messages.end(n * 1_000_000_000 + 2, Some(tag));
            }
            let took_ns = if n % 100 == 0 { 800_000_000 } else { 1_000 };
            slow += u64::from(
                messages
                    .end(n * 1_000_000_000 + took_ns, Some(tag))
                    .unwrap()
                    .slow_ms(SLOW_MS.into())
                    .is_some(),
            );
        }
    });
    assert_eq!((count, slow), (0, 1_000));
    // The counter counts.
    assert_eq!(allocations(|| drop(std::hint::black_box(Box::new(1)))), 1);
}

#[test]
fn a_frame_and_a_line_allocate_nothing() {
    let (stages, mut lines) = (Stages::default(), Lines::default());
    let mut frames = 0;
    let count = allocations(|| {
        for n in 1..100_000u64 {
            std::hint::black_box(lines.bound(u16::from(b'>')));
            stages.message_begin(0);
            stages.frame_begin(n * 1_000, n * 1_000 - 10, 0);
            for (at, stage) in Stage::ALL.iter().enumerate() {
                stages.stage(n * 1_000 + at as u64, *stage, n % 2 == 0);
            }
            frames += u64::from(stages.message_end(n * 1_000 + 9, 0).is_some());
        }
    });
    assert_eq!((count, frames), (0, 99_999));
}
