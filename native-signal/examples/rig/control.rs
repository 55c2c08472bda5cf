//! A fault on purpose: what ThreadSanitizer must report, or its silence over the rig means nothing.

use std::cell::UnsafeCell;

/// One word without any order.
struct Plain(UnsafeCell<u64>);

// SAFETY: none: this is the fault that must be found. On the machines that there are, two stores of one word give one
// of both.
unsafe impl Sync for Plain {}

static WORD: Plain = Plain(UnsafeCell::new(0));

/// Two threads, started as ours are, write one plain word.
pub(crate) fn race() {
    let threads: Vec<_> = [1, 2]
        .into_iter()
        .map(|value| {
            // SAFETY: as above.
            let write = move || (0..100_000).for_each(|_| unsafe { WORD.0.get().write_volatile(value) });
            native_signal::spawn_quiet("race", write).expect("a thread")
        })
        .collect();
    for thread in threads {
        thread.join().expect("it only writes");
    }
    println!("a race that ThreadSanitizer did not report");
}
