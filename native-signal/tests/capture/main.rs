//! Captures of real threads of this process; what changes the whole process runs in a process of its own.

#![cfg(any(target_os = "linux", target_os = "android"))]

mod load;
mod support;

use native_signal::capture::{Capture, CaptureError, Reason, Refusal, Taken, modules, strays};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use support::{answered, capture, own_tid, slot, start, take, taken, wait_for, wait_for_call};
use trace_format::native_slot::{MAX_STACK, flags};
use trace_format::sections::native_modules::UnwindRow;

/// One test at a time captures: a process has one capture at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs an ignored test of this file in a process of its own.
fn in_a_process(name: &str) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--ignored", "--nocapture", "--test-threads=1"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_running_thread_is_captured_with_its_registers_and_locals() {
    let _alone = alone();
    let slot = slot();
    static LOCAL: AtomicUsize = AtomicUsize::new(0);
    let thread = start(|stop| {
        let marker = std::hint::black_box([0x5ca1_ab1e_0ddb_a11du64; 4]);
        LOCAL.store(marker.as_ptr().addr(), Ordering::Release);
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        marker[0]
    });
    wait_for(|| LOCAL.load(Ordering::Acquire) != 0);
    for _ in 0..20 {
        let (taken, stack) = taken(thread.tid, &slot);
        assert_eq!((taken, stack.flags, stack.reason), (Taken::BySignal, 0, Some(Reason::Asked)));
        assert_eq!(stack.registers[stack.machine.stack_pointer()], stack.sp);
        assert_eq!(stack.system_call, None);
        assert!(stack.at >= stack.asked);
        let at = LOCAL.load(Ordering::Relaxed) - stack.sp as usize;
        assert_eq!(stack.stack[at..at + 8], 0x5ca1_ab1e_0ddb_a11du64.to_le_bytes());
        let found = modules([stack.pc()].into_iter());
        assert!(found.mappings[0].path.contains("capture-"), "{found:?}");
    }
    thread.stop();
}

#[test]
fn a_thread_in_read_goes_on_reading() {
    let _alone = alone();
    let slot = slot();
    let (mut from, mut to) = std::io::pipe().unwrap();
    let descriptor = from.as_raw_fd() as u64;
    let thread = start(move |_| {
        let mut byte = [0];
        from.read(&mut byte).map(|read| (read, byte[0])).map_err(|error| error.kind())
    });
    wait_for_call(thread.tid, libc::SYS_read);
    for _ in 0..50 {
        let (taken, stack) = taken(thread.tid, &slot);
        assert_eq!((taken, stack.flags), (Taken::BySignal, 0));
        let call = stack.system_call.expect("the call that it is in");
        assert_eq!((call.number, call.arguments[0]), (libc::SYS_read as u64, descriptor));
        wait_for_call(thread.tid, libc::SYS_read);
    }
    to.write_all(&[42]).unwrap();
    assert_eq!(thread.stop(), Ok((1, 42)));
}

/// A call that a signal would end, with its number; it returns whether it lasted as long as it should, and without an error.
type Timed = (&'static str, libc::c_long, fn() -> bool);

const LENGTH: Duration = Duration::from_millis(400);

fn timespec() -> libc::timespec {
    libc::timespec { tv_sec: 0, tv_nsec: LENGTH.as_nanos() as _ }
}

#[cfg(target_arch = "x86_64")]
const TIMED: [Timed; 8] = [
    ("nanosleep", libc::SYS_clock_nanosleep, || {
        // SAFETY: a live timespec, and no place for the rest.
        unsafe { libc::nanosleep(&timespec(), std::ptr::null_mut()) == 0 }
    }),
    ("epoll_wait", libc::SYS_epoll_wait, || {
        // SAFETY: a new descriptor, and a live place for one event.
        unsafe {
            let epoll = libc::epoll_create1(0);
            let mut event = std::mem::zeroed();
            let waited = libc::epoll_wait(epoll, &mut event, 1, LENGTH.as_millis() as _);
            libc::close(epoll);
            waited == 0
        }
    }),
    // SAFETY: no descriptors.
    ("poll", libc::SYS_poll, || unsafe { libc::poll(std::ptr::null_mut(), 0, LENGTH.as_millis() as _) } == 0),
    ("ppoll", libc::SYS_ppoll, || {
        // SAFETY: no descriptors, a live timespec.
        unsafe { libc::ppoll(std::ptr::null_mut(), 0, &timespec(), std::ptr::null()) == 0 }
    }),
    ("pselect", libc::SYS_pselect6, || {
        let none = std::ptr::null_mut();
        // SAFETY: no descriptors, a live timespec.
        unsafe { libc::pselect(0, none, none, none, &timespec(), std::ptr::null()) == 0 }
    }),
    ("futex", libc::SYS_futex, || {
        let word = 0u32;
        let wait = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
        // SAFETY: a live word and timespec.
        let waited = unsafe { libc::syscall(libc::SYS_futex, &raw const word, wait, 0, &timespec()) };
        waited == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::ETIMEDOUT)
    }),
    ("sigtimedwait", libc::SYS_rt_sigtimedwait, || {
        // SAFETY: a set of one signal, which is never sent, and a live timespec.
        let waited = unsafe {
            let mut set = std::mem::zeroed();
            libc::sigaddset(&mut set, libc::SIGWINCH);
            libc::sigtimedwait(&set, std::ptr::null_mut(), &timespec())
        };
        waited == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
    }),
    ("read of a socket with a timeout", libc::SYS_read, || {
        let (one, _other) = std::os::unix::net::UnixStream::pair().unwrap();
        one.set_read_timeout(Some(LENGTH)).unwrap();
        let mut byte = 0u8;
        // SAFETY: a live place for one byte.
        let read = unsafe { libc::read(one.as_raw_fd(), (&raw mut byte).cast(), 1) };
        read == -1 && std::io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
    }),
];

#[test]
#[cfg(target_arch = "x86_64")]
fn a_call_that_a_signal_would_end_lasts_as_long_as_without_us() {
    let _alone = alone();
    let slot = slot();
    for (name, number, call) in TIMED {
        let thread = start(move |_| {
            let begun = Instant::now();
            (call(), begun.elapsed())
        });
        wait_for_call(thread.tid, number);
        let begun = Instant::now();
        let mut captures = 0;
        while begun.elapsed() < LENGTH / 2 {
            match take(thread.tid, &slot) {
                Ok((Taken::WithoutSignal, stack)) => {
                    assert_eq!(stack.flags, flags::WITHOUT_SIGNAL, "{name}");
                    assert_eq!(stack.system_call.map(|call| call.number), Some(number as u64), "{name}");
                    assert!(stack.stack.len() > 100 && stack.pc() != 0, "{name}");
                    captures += 1;
                }
                // A thread that has gone on by itself, on a machine under load.
                other => assert!(begun.elapsed() > LENGTH / 2, "{name}: {other:?}"),
            }
        }
        let (right, elapsed) = thread.stop();
        // The kernel rounds times up.
        assert!(right && elapsed >= LENGTH, "{name}: {right}, {elapsed:?} after {captures} captures");
        assert!(captures > 0, "{name}");
    }
}

#[test]
fn a_thread_that_sleeps_and_works_in_turns_is_never_interrupted() {
    let _alone = alone();
    let slot = slot();
    let thread = start(|stop| {
        let (mut sleeps, mut ended) = (0u32, 0u32);
        while !stop.load(Ordering::Relaxed) {
            let time = libc::timespec { tv_sec: 0, tv_nsec: 50_000 };
            // SAFETY: a live timespec, and no place for the rest.
            ended += u32::from(unsafe { libc::nanosleep(&time, std::ptr::null_mut()) } != 0);
            sleeps += 1;
            for step in 0..20_000u32 {
                std::hint::black_box(step);
            }
        }
        (sleeps, ended)
    });
    let mut taken = [0; 3];
    for _ in 0..300 {
        taken[match take(thread.tid, &slot) {
            Ok((Taken::BySignal, _)) => 0,
            Ok((Taken::WithoutSignal, _)) => 1,
            Err(refusal) => {
                assert_eq!(refusal, Refusal::TimedOut);
                2
            }
        }] += 1;
    }
    let (sleeps, ended) = thread.stop();
    println!("by signal, without, timed out: {taken:?}; {ended} of {sleeps} sleeps ended early");
    assert!(taken[0] + taken[1] > 0);
    assert_eq!(ended, 0, "of {sleeps} sleeps");
}

#[test]
fn deep_stacks_are_cut() {
    let _alone = alone();
    let slot = slot();
    fn deep(levels: u32, stop: &AtomicBool) -> u64 {
        let room = std::hint::black_box([u64::from(levels); 512]);
        if levels > 0 {
            return deep(levels - 1, stop) + room[levels as usize % 512];
        }
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        room[0]
    }
    let thread = start(|stop| deep(30, stop));
    // The way down takes a while on a machine under load.
    wait_for(|| {
        take(thread.tid, &slot)
            .is_ok_and(|(_, stack)| stack.flags == flags::CUT && stack.stack.len() == MAX_STACK)
    });
    thread.stop();
}

#[test]
fn a_slot_that_is_in_use_and_a_second_asker_are_refused() {
    let _alone = alone();
    let (one, other) = (slot(), slot());
    let thread = start(|stop| {
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    let ask = |slot| capture().take(thread.tid as u32, Reason::Stall, slot);
    assert_eq!(answered(|| ask(&one)), Ok(Taken::BySignal));
    assert_eq!(ask(&one), Err(Refusal::Busy), "nothing has collected it");
    one.free();
    // The thread is asked at its next tick: two askers meet.
    let refused = Arc::new(AtomicBool::new(false));
    wait_for(|| {
        std::thread::scope(|scope| {
            for slot in [&one, &other] {
                let refused = refused.clone();
                scope.spawn(move || match ask(slot) {
                    Ok(_) => slot.free(),
                    Err(refusal) => refused.store(refusal == Refusal::Busy, Ordering::Relaxed),
                });
            }
        });
        // After a time-out the handler frees the slot itself, once its thread runs.
        wait_for(|| one.is_free() && other.is_free());
        refused.load(Ordering::Relaxed)
    });
    assert_eq!(capture().take(own_tid() as u32, Reason::Asked, &one), Err(Refusal::OwnThread));
    assert_eq!(capture().take(i32::MAX as u32, Reason::Asked, &one), Err(Refusal::NoThread));
    assert!(one.is_free());
    let tid = thread.tid;
    thread.stop();
    assert_eq!(capture().take(tid as u32, Reason::Asked, &one), Err(Refusal::NoThread));
}

fn set_blocked(signal: i32, blocked: bool) {
    // SAFETY: a live set of one signal.
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigaddset(&mut set, signal);
        let how = if blocked { libc::SIG_BLOCK } else { libc::SIG_UNBLOCK };
        assert_eq!(libc::pthread_sigmask(how, &set, std::ptr::null_mut()), 0);
    }
}

#[test]
fn a_thread_that_blocks_the_signal() {
    let _alone = alone();
    let slot = slot();
    let signal = capture().signal();
    let is_blocked = Arc::new(AtomicBool::new(false));
    let thread = start({
        let is_blocked = is_blocked.clone();
        move |stop| {
            set_blocked(signal, true);
            is_blocked.store(true, Ordering::Release);
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        }
    });
    wait_for(|| is_blocked.load(Ordering::Acquire));
    assert_eq!(take(thread.tid, &slot).map(drop), Err(Refusal::Blocked));
    assert!(slot.is_free());
    thread.stop();

    let (mut from, to) = std::io::pipe().unwrap();
    let thread = start(move |_| {
        set_blocked(signal, true);
        from.read(&mut [0])
    });
    wait_for_call(thread.tid, libc::SYS_read);
    assert_eq!(taken(thread.tid, &slot).0, Taken::WithoutSignal);
    drop(to);
    assert_eq!(thread.stop().unwrap(), 0);
}

#[test]
fn a_signal_that_does_not_arrive_times_out_and_may_come_late() {
    let _alone = alone();
    let slot = slot();
    let signal = capture().signal();
    let state = slot.memory().as_ptr() as usize;
    let late = Arc::new(AtomicBool::new(false));
    let thread = start({
        let late = late.clone();
        move |stop| {
            while !stop.load(Ordering::Relaxed) {
                // Blocks the signal as soon as it is asked for.
                // SAFETY: the slot's state is its first word, and the slot is never unmapped.
                let asked = unsafe { (state as *const u32).read_volatile() } == 1;
                if asked {
                    set_blocked(signal, true);
                } else if late.swap(false, Ordering::AcqRel) {
                    set_blocked(signal, false);
                }
            }
        }
    });
    wait_for(|| {
        let begun = Instant::now();
        let refusal = take(thread.tid, &slot).map(drop).err();
        late.store(true, Ordering::Release);
        wait_for(|| !late.load(Ordering::Acquire));
        refusal == Some(Refusal::TimedOut) && begun.elapsed() >= Duration::from_millis(200)
    });
    assert!(slot.is_free());
    thread.stop();
    // The late signal changed nothing.
    let thread = start(|stop| {
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    assert_eq!(taken(thread.tid, &slot).0, Taken::BySignal);
    thread.stop();
}

#[test]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn a_stack_that_is_not_the_threads_gives_registers_only() {
    let _alone = alone();
    let slot = slot();
    static STOP: AtomicBool = AtomicBool::new(false);
    extern "C" fn coroutine() {
        while !STOP.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    }
    let thread = start(|_| {
        let mut stack = vec![0u8; 1 << 20];
        // SAFETY: the contexts and the stack live until the coroutine has returned.
        unsafe {
            let mut back: libc::ucontext_t = std::mem::zeroed();
            let mut there: libc::ucontext_t = std::mem::zeroed();
            libc::getcontext(&mut there);
            there.uc_stack.ss_sp = stack.as_mut_ptr().cast();
            there.uc_stack.ss_size = stack.len();
            there.uc_link = &mut back;
            libc::makecontext(&mut there, coroutine, 0);
            libc::swapcontext(&mut back, &there);
        }
    });
    wait_for(|| {
        take(thread.tid, &slot).is_ok_and(|(_, stack)| {
            stack.flags == flags::FOREIGN_STACK && stack.stack.is_empty() && stack.pc() != 0
        })
    });
    STOP.store(true, Ordering::Relaxed);
    thread.stop();
}

#[test]
fn a_thread_in_a_handler_on_its_alternate_stack() {
    let _alone = alone();
    let slot = slot();
    static STOP: AtomicBool = AtomicBool::new(false);
    extern "C" fn handler(_: i32) {
        while !STOP.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    }
    // SAFETY: a handler that only loads; no other test uses the signal.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &action, std::ptr::null_mut()), 0);
    }
    // Rust's threads have a small alternate stack.
    let thread = start(|_| {
        let mut memory = vec![0u8; 256 << 10];
        let none = libc::stack_t { ss_sp: std::ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        let ours = libc::stack_t { ss_sp: memory.as_mut_ptr().cast(), ss_flags: 0, ss_size: memory.len() };
        let mut before = none;
        // SAFETY: the memory lives until the handler has returned and the stack before is back.
        unsafe {
            libc::sigaltstack(&ours, &mut before);
            libc::raise(libc::SIGUSR2);
            libc::sigaltstack(&before, std::ptr::null_mut());
        }
    });
    wait_for(|| {
        take(thread.tid, &slot).is_ok_and(|(taken, stack)| {
            taken == Taken::BySignal && stack.flags == flags::IN_HANDLER && stack.stack.len() > 500
        })
    });
    STOP.store(true, Ordering::Relaxed);
    thread.stop();
}

/// A mutex of the C library, which is never freed.
#[derive(Clone, Copy)]
struct Lock(*mut libc::pthread_mutex_t);
// SAFETY: what it points to is made for threads.
unsafe impl Send for Lock {}

impl Lock {
    fn new(kind: libc::c_int) -> Self {
        // SAFETY: all zeroes is a value of both; the attribute is initialised before it is used.
        unsafe {
            let mutex = Box::into_raw(Box::new(std::mem::zeroed::<libc::pthread_mutex_t>()));
            let mut attribute = std::mem::zeroed();
            libc::pthread_mutexattr_init(&mut attribute);
            assert_eq!(libc::pthread_mutexattr_settype(&mut attribute, kind), 0);
            assert_eq!(libc::pthread_mutex_init(mutex, &attribute), 0);
            Lock(mutex)
        }
    }

    fn lock(self) {
        // SAFETY: initialised, and never freed.
        assert_eq!(unsafe { libc::pthread_mutex_lock(self.0) }, 0);
    }

    fn unlock(self) {
        // SAFETY: locked by this thread.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(self.0) }, 0);
    }
}

#[test]
#[cfg(target_env = "gnu")]
fn the_owner_of_each_kind_of_mutex_is_named() {
    let _alone = alone();
    let slot = slot();
    /// `PTHREAD_MUTEX_ADAPTIVE_NP`.
    const ADAPTIVE: libc::c_int = 3;
    for kind in
        [libc::PTHREAD_MUTEX_NORMAL, libc::PTHREAD_MUTEX_RECURSIVE, libc::PTHREAD_MUTEX_ERRORCHECK, ADAPTIVE]
    {
        let lock = Lock::new(kind);
        lock.lock();
        let thread = start(move |_| {
            let lock = lock;
            lock.lock();
            lock.unlock();
        });
        wait_for_call(thread.tid, libc::SYS_futex);
        let (taken, stack) = taken(thread.tid, &slot);
        assert_eq!(taken, Taken::BySignal);
        assert_eq!(stack.mutex, (lock.0.addr() as u64, own_tid() as u32), "kind {kind}");
        lock.unlock();
        thread.stop();
    }
}

#[test]
#[cfg(target_env = "gnu")]
fn a_condition_variable_has_no_owner() {
    let _alone = alone();
    let slot = slot();
    let pair = Arc::new((Mutex::new(false), std::sync::Condvar::new()));
    let thread = start({
        let pair = pair.clone();
        move |_| {
            let mut go_on = pair.0.lock().unwrap();
            while !*go_on {
                go_on = pair.1.wait(go_on).unwrap();
            }
        }
    });
    wait_for_call(thread.tid, libc::SYS_futex);
    assert_eq!(taken(thread.tid, &slot).1.mutex, (0, 0));
    *pair.0.lock().unwrap() = true;
    pair.1.notify_all();
    thread.stop();
}

#[test]
#[cfg(target_env = "gnu")]
fn a_deadlock_of_two_mutexes_names_both_owners() {
    let _alone = alone();
    let slot = slot();
    // The two never end: they are left behind when the process ends.
    let (one, other) = (Lock::new(libc::PTHREAD_MUTEX_NORMAL), Lock::new(libc::PTHREAD_MUTEX_NORMAL));
    let met = Arc::new(std::sync::Barrier::new(2));
    let cross = |first: Lock, second: Lock| {
        let met = met.clone();
        start(move |_| {
            let (first, second) = (first, second);
            first.lock();
            met.wait();
            second.lock();
        })
    };
    let (a, b) = (cross(one, other), cross(other, one));
    let waits_for = |tid, lock: Lock| {
        wait_for(|| take(tid, &slot).is_ok_and(|(_, stack)| stack.mutex.0 == lock.0.addr() as u64));
        taken(tid, &slot).1.mutex.1 as i32
    };
    assert_eq!(waits_for(a.tid, other), b.tid);
    assert_eq!(waits_for(b.tid, one), a.tid);
    std::mem::forget((a, b));
}

#[test]
fn another_handler_stays() {
    in_a_process("another_handler_stays_in_a_process");
}

static SEEN: AtomicI32 = AtomicI32::new(0);
extern "C" fn seen(_: i32) {
    SEEN.fetch_add(1, Ordering::Relaxed);
}

#[test]
#[ignore = "in a process of its own"]
fn another_handler_stays_in_a_process() {
    let put = |signal| {
        // SAFETY: a handler that only counts.
        unsafe { libc::signal(signal, seen as *const () as usize) };
    };
    put(57);
    put(50);
    assert_eq!(Capture::install(Some(50)).err(), Some(CaptureError::Taken { signal: 50 }));
    assert_eq!(
        Capture::install(Some(libc::SIGQUIT)).err(),
        Some(CaptureError::Unusable { signal: libc::SIGQUIT })
    );
    let capture = Capture::install(None).unwrap();
    assert_eq!(capture.signal(), 56, "57 has a handler");
    // SAFETY: two integers.
    unsafe { libc::raise(57) };
    assert_eq!(SEEN.load(Ordering::Relaxed), 1);
    // A signal of our number that is not ours: the process lives.
    // SAFETY: plain integers.
    unsafe {
        libc::raise(56);
        let value = libc::sigval { sival_ptr: 7 as *mut _ };
        libc::sigqueue(libc::getpid(), 56, value);
    }
    wait_for(|| strays() == 2);

    let slot = slot();
    let thread = start(|stop| {
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    assert_eq!(taken(thread.tid, &slot).0, Taken::BySignal);
    put(56);
    assert_eq!(take(thread.tid, &slot).map(drop), Err(Refusal::HandlerReplaced));
    assert!(slot.is_free());
    // SAFETY: two integers.
    unsafe { libc::raise(56) };
    assert_eq!(SEEN.load(Ordering::Relaxed), 2, "the other handler is still there");
    thread.stop();
}

#[test]
fn a_forked_child_captures_nothing() {
    in_a_process("a_forked_child_captures_nothing_in_a_process");
}

#[test]
#[ignore = "in a process of its own"]
fn a_forked_child_captures_nothing_in_a_process() {
    let slot = slot();
    let capture = capture();
    // SAFETY: the child asks once, raises a signal that is ignored, and leaves.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let refused = capture.take(1, Reason::Asked, &slot) == Err(Refusal::ForkedChild);
        // SAFETY: two integers; then the child ends without running anything of its parent.
        unsafe {
            libc::raise(capture.signal());
            libc::_exit(if refused { 0 } else { 1 });
        }
    }
    let mut status = 0;
    // SAFETY: our child, a live place for its status.
    assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
    assert_eq!(status, 0);
    let thread = start(|stop| {
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    assert_eq!(taken(thread.tid, &slot).0, Taken::BySignal);
    thread.stop();
}

#[test]
fn a_process_that_is_not_dumpable_signals_no_unknown_call() {
    in_a_process("a_process_that_is_not_dumpable_in_a_process");
}

/// As a release build of an Android app is: not root, and not dumpable.
#[test]
#[ignore = "in a process of its own"]
fn a_process_that_is_not_dumpable_in_a_process() {
    let slot = slot();
    let (mut from, to) = std::io::pipe().unwrap();
    let reads = start(move |_| from.read(&mut [0]).map_err(|error| error.kind()));
    wait_for_call(reads.tid, libc::SYS_read);
    let early = Arc::new(AtomicI32::new(0));
    let sleeps = start({
        let early = early.clone();
        move |stop| {
            while !stop.load(Ordering::Relaxed) {
                let time = libc::timespec { tv_sec: 1, tv_nsec: 0 };
                // SAFETY: a live timespec, and no place for the rest.
                early.fetch_add(unsafe { libc::nanosleep(&time, std::ptr::null_mut()) }, Ordering::Relaxed);
            }
        }
    });
    let runs = start(|stop| {
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    wait_for_call(sleeps.tid, libc::SYS_clock_nanosleep);
    // SAFETY: integers. Without root the ids stay as they are.
    unsafe {
        if libc::getuid() == 0 {
            assert_eq!((libc::setgid(65534), libc::setuid(65534)), (0, 0));
        }
        assert_eq!(libc::prctl(libc::PR_SET_DUMPABLE, 0), 0);
    }
    assert!(
        std::fs::read(format!("/proc/self/task/{}/syscall", runs.tid)).is_err(),
        "nothing is hidden here"
    );
    // The C library changes ids by a signal of its own to every thread, which ends sleeps.
    std::thread::sleep(Duration::from_millis(50));
    let before = early.load(Ordering::Relaxed);
    assert_eq!(taken(runs.tid, &slot).0, Taken::BySignal);
    assert_eq!(take(sleeps.tid, &slot).map(drop), Err(Refusal::UnknownCall));
    assert_eq!(early.load(Ordering::Relaxed), before);
    assert_eq!(taken(reads.tid, &slot).0, Taken::BySignal);
    drop(to);
    assert_eq!(reads.stop(), Ok(0));
    runs.stop();
    sleeps.stop();
}

#[test]
fn modules_agree_with_readelf() {
    let _alone = alone();
    let slot = slot();
    let (mut from, to) = std::io::pipe().unwrap();
    let thread = start(move |_| from.read(&mut [0]).is_ok());
    wait_for_call(thread.tid, libc::SYS_read);
    let (_, stack) = taken(thread.tid, &slot);
    let words = stack.stack.chunks_exact(8).map(|word| u64::from_le_bytes(word.try_into().unwrap()));
    let vdso = std::fs::read_to_string("/proc/self/maps").unwrap();
    let vdso =
        vdso.lines().find(|line| line.ends_with("[vdso]")).and_then(|line| line.split('-').next()).unwrap();
    let vdso = u64::from_str_radix(vdso, 16).unwrap();
    let found = modules(words.chain([stack.pc(), vdso + 0x800]));
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let mut files = 0;
    for mapping in &found.mappings {
        let line = format!("{:x}-{:x} r-xp {:08x} ", mapping.start, mapping.end, mapping.offset);
        assert!(
            maps.lines().any(|other| other.starts_with(&line) && other.ends_with(&mapping.path)),
            "{line}{}",
            mapping.path
        );
        if mapping.path == "[vdso]" {
            assert_eq!(found.images.len(), 1);
            assert!(found.images[0].1.starts_with(b"\x7fELF") && !mapping.build_id.is_empty());
            continue;
        }
        files += 1;
        let readelf = |option| {
            let output = Command::new("readelf").args([option, "-W", &mapping.path]).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        let notes = readelf("-n");
        let id = notes.lines().find_map(|line| Some(line.split_once("Build ID: ")?.1)).unwrap_or_default();
        let ours: String = mapping.build_id.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(ours, id, "{}", mapping.path);
        // The rows are the bytes of the file's section, at their places.
        let sections = readelf("-S");
        let section =
            sections.lines().find_map(|line| line.split_once(" .eh_frame ")).expect("a section .eh_frame").1;
        let numbers: Vec<u64> = section
            .split_whitespace()
            .skip(1)
            .take(3)
            .map(|number| u64::from_str_radix(number, 16).unwrap())
            .collect();
        let [address, offset, size] = numbers[..] else { panic!("{section}") };
        let file = std::fs::read(&mapping.path).unwrap();
        let mut in_file = 0;
        for row in &found.rows {
            let (UnwindRow::Cie { address: at, bytes } | UnwindRow::Fde { address: at, bytes }) = row else {
                panic!("no entry of exidx on this machine");
            };
            let Some(place) =
                at.wrapping_sub(mapping.bias).checked_sub(address).filter(|place| *place < size)
            else {
                continue;
            };
            let from = (offset + place) as usize;
            assert_eq!(&file[from..from + bytes.len()], bytes, "{}", mapping.path);
            in_file += 1;
        }
        assert!(in_file >= 2, "{}: {in_file}", mapping.path);
    }
    assert!(files >= 2, "the program and the C library: {files}");
    drop(to);
    thread.stop();
}

#[test]
fn signals_into_a_program_that_does_everything_change_nothing() {
    in_a_process("many_signals_in_a_process");
}

#[test]
#[ignore = "in a process of its own"]
fn many_signals_in_a_process() {
    let signals = std::env::var("ANRSCOPE_CAPTURE_SIGNALS").ok().and_then(|count| count.parse().ok());
    assert!(load::run(signals.unwrap_or(2_000)));
}

#[test]
fn the_handler_makes_no_system_call_but_its_return() {
    let calls = std::env::temp_dir().join(format!("capture-{}.strace", std::process::id()));
    let traced = Command::new("strace")
        .args(["-f", "-o"])
        .arg(&calls)
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "a_thread_without_system_calls", "--ignored", "--test-threads=1"])
        .output()
        .expect("strace: scripts/install-test-needs installs it");
    assert!(traced.status.success(), "{}", String::from_utf8_lossy(&traced.stdout));
    let text = std::fs::read_to_string(&calls).unwrap();
    std::fs::remove_file(&calls).unwrap();
    // Between its two calls of getppid the thread only computes.
    let tid =
        text.lines().find(|line| line.contains(" getppid(")).and_then(|line| line.split(' ').next()).unwrap();
    let own: Vec<&str> = text.lines().filter(|line| line.split(' ').next() == Some(tid)).collect();
    let marks: Vec<usize> = (0..own.len()).filter(|&at| own[at].contains(" getppid(")).collect();
    // strace writes the end of a call on a line of its own when another thread's call comes between.
    let resumed = |line: &&&str| line.contains("<... getppid resumed>");
    let inside: Vec<&str> =
        own[marks[0] + 1..marks[1]].iter().filter(|line| !resumed(line)).copied().collect();
    let returns = inside.iter().filter(|line| line.contains(" rt_sigreturn(")).count();
    assert!(returns >= 100, "{returns}");
    let other = inside.iter().find(|line| !line.contains("rt_sigreturn") && !line.contains(" --- SIG"));
    assert_eq!(other, None);
}

#[test]
#[ignore = "under strace"]
fn a_thread_without_system_calls() {
    let slot = slot();
    static READY: AtomicBool = AtomicBool::new(false);
    let thread = start(|stop| {
        // SAFETY: the call has no arguments and cannot fail.
        unsafe { libc::getppid() };
        READY.store(true, Ordering::Release);
        while !stop.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
        // SAFETY: as above.
        unsafe { libc::getppid() };
    });
    wait_for(|| READY.load(Ordering::Acquire));
    let mut taken = 0;
    while taken < 100 {
        taken += usize::from(take(thread.tid, &slot).is_ok_and(|(taken, _)| taken == Taken::BySignal));
    }
    thread.stop();
}
