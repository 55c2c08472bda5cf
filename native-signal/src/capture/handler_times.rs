//! How long the handler takes, beside a `memcpy` of the same size: `scripts/bench native-capture`.

use super::handler::on_native_capture;
use super::kernel;
use super::request::REQUEST;
use super::slot::Slot;
use super::stacks::TABLE;
use crate::task;
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::time::Duration;
use trace_format::native_slot::{LEN, MAX_STACK, state};

const RUNS: usize = 20_000;

static TOOK: AtomicU64 = AtomicU64::new(0);
static SOURCE: AtomicU64 = AtomicU64::new(0);
static LENGTH: AtomicU64 = AtomicU64::new(0);
static TARGET: AtomicU64 = AtomicU64::new(0);

fn now() -> u64 {
    // SAFETY: `timespec` is plain integers; a live place for the answer.
    unsafe {
        let mut time: libc::timespec = std::mem::zeroed();
        libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time);
        time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
    }
}

/// Our handler, timed.
extern "C" fn ours(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let begun = now();
    on_native_capture(signal, info, context);
    TOOK.store(now() - begun + 1, Ordering::Release);
}

/// A `memcpy` from the same place, timed.
extern "C" fn copies(_: libc::c_int, _: *mut libc::siginfo_t, _: *mut libc::c_void) {
    let begun = now();
    let (from, to) = (SOURCE.load(Ordering::Relaxed) as *const u8, TARGET.load(Ordering::Relaxed) as *mut u8);
    // SAFETY: the thread's own stack above its stack pointer, and the slot's place for stack bytes.
    unsafe { std::ptr::copy_nonoverlapping(from, to, LENGTH.load(Ordering::Relaxed) as usize) };
    TOOK.store(now() - begun + 1, Ordering::Release);
}

fn handle(signal: i32, handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void)) {
    // SAFETY: `sigaction` is plain numbers; the handlers are safe at any instruction.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(signal, &action, null_mut()), 0);
    }
}

/// A slot in a file, as in a recording, with all its pages touched.
fn slot_in_a_file() -> Slot {
    let path = std::env::temp_dir().join(format!("anrscope-handler-times-{}", std::process::id()));
    std::fs::write(&path, vec![0; LEN]).unwrap();
    let file = std::fs::File::options().read(true).write(true).open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
    // SAFETY: a new mapping of a file of this length; it is never unmapped.
    let slot = unsafe {
        let memory = libc::mmap(null_mut(), LEN, rights, libc::MAP_SHARED, descriptor, 0);
        assert_ne!(memory, libc::MAP_FAILED);
        Slot::new(NonNull::new(memory.cast()).unwrap())
    };
    for page in (0..LEN).step_by(4096) {
        // SAFETY: within the mapping.
        unsafe { slot.at(page).write_volatile(0) };
    }
    slot
}

fn row(name: &str, mut times: Vec<u64>) {
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
    println!(
        "  {name:44} p50 {:6.2} us, p99 {:6.2}, p99.9 {:6.2}, most {:7.2}",
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

/// Uses at least this much stack, then does the work.
fn below(bytes: usize, work: &mut dyn FnMut()) {
    let room = std::hint::black_box([1u8; 2048]);
    if bytes > room.len() {
        below(bytes - room.len(), work);
    } else {
        work();
    }
    std::hint::black_box(&room);
}

#[test]
#[ignore = "a measurement: scripts/bench native-capture"]
fn handler_times() {
    const SIGNAL: i32 = 48;
    let slot = slot_in_a_file();
    REQUEST.pid.store(task::process_id(), Ordering::Release);
    let mut number = 1u64 << 20;
    for (name, depth) in [("16 KiB", 16usize << 10), ("64 KiB", MAX_STACK + (8 << 10))] {
        for runs in [false, true] {
            let (tid, stop) = (AtomicI32::new(0), AtomicBool::new(false));
            let (mut from, to) = std::io::pipe().unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    below(depth, &mut || {
                        let here = 0u64;
                        SOURCE.store(std::hint::black_box(&raw const here).addr() as u64, Ordering::Relaxed);
                        tid.store(task::own_id(), Ordering::Release);
                        if runs {
                            while !stop.load(Ordering::Relaxed) {
                                std::hint::spin_loop();
                            }
                        } else {
                            let _ = std::io::Read::read(&mut from, &mut [0]);
                        }
                    });
                });
                while tid.load(Ordering::Acquire) == 0 {
                    std::thread::yield_now();
                }
                std::thread::sleep(Duration::from_millis(20));
                // SAFETY: no other test of this crate takes captures in this process: it runs alone.
                let ranges = unsafe { TABLE.fill() }.unwrap();
                for (what, handler) in [("handler", ours as extern "C" fn(_, _, _)), ("memcpy", copies)] {
                    handle(SIGNAL, handler);
                    let mut times = Vec::with_capacity(RUNS);
                    let mut copied = 0;
                    for _ in 0..RUNS {
                        number += 1;
                        slot.state().store(state::ASKED, Ordering::Release);
                        REQUEST.slot.store(slot.memory().as_ptr(), Ordering::Relaxed);
                        REQUEST.ranges.store(TABLE.first(), Ordering::Relaxed);
                        REQUEST.ranges_len.store(ranges, Ordering::Relaxed);
                        TARGET.store(slot.stack_bytes().addr() as u64, Ordering::Relaxed);
                        REQUEST.ask(number);
                        TOOK.store(0, Ordering::Release);
                        kernel::queue(
                            task::process_id(),
                            tid.load(Ordering::Relaxed),
                            SIGNAL,
                            REQUEST.cookie(number),
                        )
                        .unwrap();
                        while TOOK.load(Ordering::Acquire) == 0 {
                            std::hint::spin_loop();
                        }
                        times.push(TOOK.load(Ordering::Relaxed) - 1);
                        if what == "handler" {
                            assert!(slot.is_full(), "the handler has filled it");
                            copied = slot.load::<u32>(trace_format::native_slot::at::STACK_LEN);
                            LENGTH.store(copied.into(), Ordering::Relaxed);
                        }
                    }
                    let copied =
                        if what == "memcpy" { LENGTH.load(Ordering::Relaxed) } else { copied.into() };
                    let how = if runs { "running" } else { "in read" };
                    row(&format!("{name}, {how}: {what}, {copied} bytes"), times);
                }
                stop.store(true, Ordering::Relaxed);
                drop(to);
            });
        }
    }
}
