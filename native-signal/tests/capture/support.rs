//! Slots, and threads that do one thing until they are stopped.

use native_signal::capture::{Capture, Reason, Refusal, Slot, Taken};
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use trace_format::native_slot::LEN;
use trace_format::sections::native_stack::NativeStack;

/// A slot in memory of its own, which is never unmapped.
pub(crate) fn slot() -> Slot {
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping wherever the kernel likes.
    let memory =
        unsafe { libc::mmap(null_mut(), LEN, rights, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1, 0) };
    assert_ne!(memory, libc::MAP_FAILED);
    // SAFETY: just mapped, page-aligned, and only used here.
    let slot = unsafe { Slot::new(NonNull::new(memory.cast()).unwrap()) };
    // A first touch of each page would be part of the first capture's time.
    for at in (0..LEN).step_by(4096) {
        // SAFETY: within the mapping.
        unsafe { slot.memory().as_ptr().add(at).write_volatile(0) };
    }
    slot
}

pub(crate) fn capture() -> &'static Capture {
    Capture::install(None).unwrap()
}

pub(crate) fn own_tid() -> i32 {
    // SAFETY: the call has no arguments and cannot fail.
    unsafe { libc::syscall(libc::SYS_gettid) as i32 }
}

/// One capture of this thread.
pub(crate) fn take(tid: i32, slot: &Slot) -> Result<(Taken, NativeStack), Refusal> {
    let taken = capture().take(tid as u32, Reason::Asked, slot)?;
    let stack = slot.stack().expect("a capture is valid");
    slot.free();
    assert_eq!(stack.tid, tid as u32);
    Ok((taken, stack))
}

/// The capture of a thread that answers as soon as it gets a CPU, which on a busy machine may take longer than a capture waits.
pub(crate) fn taken(tid: i32, slot: &Slot) -> (Taken, NativeStack) {
    answered(|| take(tid, slot)).unwrap()
}

/// Asks until the answer is another than that the thread got no CPU, or still runs the handler of an earlier question.
pub(crate) fn answered<T>(mut ask: impl FnMut() -> Result<T, Refusal>) -> Result<T, Refusal> {
    let mut answer = ask();
    if matches!(answer, Err(Refusal::TimedOut)) {
        wait_for(|| {
            answer = ask();
            !matches!(answer, Err(Refusal::TimedOut | Refusal::Busy))
        });
    }
    answer
}

/// A thread that was started.
pub(crate) struct Running<T> {
    pub(crate) tid: i32,
    pub(crate) stop: Arc<AtomicBool>,
    handle: JoinHandle<T>,
}

impl<T> Running<T> {
    pub(crate) fn stop(self) -> T {
        self.stop.store(true, Ordering::Release);
        self.handle.join().unwrap()
    }
}

/// Starts a thread and waits until its id is known.
pub(crate) fn start<T: Send + 'static>(body: impl FnOnce(&AtomicBool) -> T + Send + 'static) -> Running<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let tid = Arc::new(AtomicI32::new(0));
    let handle = std::thread::spawn({
        let (stop, tid) = (stop.clone(), tid.clone());
        move || {
            tid.store(own_tid(), Ordering::Release);
            body(&stop)
        }
    });
    wait_for(|| tid.load(Ordering::Acquire) != 0);
    Running { tid: tid.load(Ordering::Acquire), stop, handle }
}

/// Waits until something is so.
pub(crate) fn wait_for(mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(60), "waited for 60 s");
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// Waits until a thread sleeps in this system call.
pub(crate) fn wait_for_call(tid: i32, number: libc::c_long) {
    let path = format!("/proc/self/task/{tid}/syscall");
    let start = format!("{number} ");
    wait_for(|| std::fs::read_to_string(&path).is_ok_and(|text| text.starts_with(&start)));
}
