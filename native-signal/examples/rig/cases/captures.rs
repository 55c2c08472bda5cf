//! Stacks are captured while SIGQUITs come: both arrive, and the app's threads do what they did before.

use super::Row;
use super::art::{block_as_art, install, own_id, start_catcher};
use super::driver::Subject;
use super::page::{Page, nap, wait_until};
use super::stacks::{Counts, capture, slot, start, take};
use std::hint::black_box;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use trace_format::sections::native_stack::NativeStack;

pub(super) const CASES: &[Row] = &[
    ("captures_of_a_computing_thread", simulate_computing, judge_storm),
    ("captures_end_no_sleep", simulate_sleeping, judge_storm),
    ("captures_name_the_owner_of_a_mutex", simulate_mutex, judge_storm),
    ("captures_of_the_leader", simulate_leader, judge_storm),
    ("captures_of_threads_that_end", simulate_ending, judge_storm),
    ("captures_on_an_alternate_stack", simulate_alternate_stack, judge_storm),
    ("captures_beside_another_handler_of_the_signal", simulate_replaced, judge_replaced),
    ("captures_while_it_forks", simulate_forks, judge_storm),
];

/// What the simulated app answers, by index into [`Page::answers`].
mod answer {
    pub(super) const TAKEN: usize = 0;
    pub(super) const WRONG: usize = 1;
    /// What the app's own threads noticed: a wrong result, a sleep that ended early, a failed call.
    pub(super) const NOTICED: usize = 2;
    pub(super) const AFTER: usize = 3;
}

/// Captures at least.
const TAKEN: i64 = 50;

static NOTICED: AtomicU64 = AtomicU64::new(0);
static STOP: AtomicBool = AtomicBool::new(false);

/// The app until its first step: as ART has it, with our sensor and the handler of captures.
fn begin(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    // It stays to the end.
    std::mem::forget(sensor);
    capture();
}

/// Captures `tid` until the judge has sent its signals and enough were taken; checks each by `is_right`.
fn capture_until_sent(page: &'static Page, tid: impl Fn() -> i64, is_right: impl Fn(&NativeStack) -> bool) {
    let slot = slot();
    let mut counts = Counts::default();
    page.reach(1);
    let taken = |counts: &Counts| counts.by_signal + counts.without_signal;
    while page.allowed.load(Ordering::SeqCst) < 2 || taken(&counts) < TAKEN {
        if let Some(stack) = take(tid(), &slot, &mut counts)
            && !is_right(&stack)
        {
            counts.wrong += 1;
        }
        // The app gets the CPU in between.
        nap(200);
    }
    STOP.store(true, Ordering::SeqCst);
    page.answer(answer::TAKEN, taken(&counts));
    page.answer(answer::WRONG, counts.wrong);
}

fn end(page: &'static Page) {
    page.answer(answer::NOTICED, NOTICED.load(Ordering::SeqCst) as i64);
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_storm(subject: &mut Subject) {
    let received = |page: &Page| page.catcher.count();
    for _ in 0..20 {
        subject.send();
        nap(3_000);
    }
    let balance = subject.balance(received, |page| page.catcher.last());
    assert!(!balance.lost && balance.received >= 1, "{balance:?}");
    subject.allow(2);
    subject.await_step(2);
    let answer = |index| subject.page.answered(index);
    assert!(answer(answer::TAKEN) >= TAKEN);
    assert_eq!((answer(answer::WRONG), answer(answer::NOTICED)), (0, 0));
}

/// A sum whose result is known, in registers and on the stack.
fn sum() -> u64 {
    let mut words = black_box([0u64; 64]);
    let mut sum = 0u64;
    for round in 0..2_000u64 {
        let word = &mut words[(round % 64) as usize];
        *word = word.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(round);
        sum = sum.rotate_left(5) ^ *word;
    }
    sum
}

fn compute() {
    let right = sum();
    while !STOP.load(Ordering::Relaxed) {
        // SAFETY: the C library's place for this thread's error number.
        unsafe { *errno() = 42 };
        let found = sum();
        // SAFETY: as above.
        let kept = unsafe { *errno() } == 42;
        if found != right || !kept {
            NOTICED.fetch_add(1, Ordering::SeqCst);
        }
    }
}

fn errno() -> *mut i32 {
    #[cfg(target_os = "android")]
    // SAFETY: no arguments.
    unsafe {
        libc::__errno()
    }
    #[cfg(not(target_os = "android"))]
    // SAFETY: no arguments.
    unsafe {
        libc::__errno_location()
    }
}

fn simulate_computing(page: &'static Page) {
    begin(page);
    let (tid, thread) = start(compute);
    capture_until_sent(page, || tid, |stack| !stack.stack.is_empty());
    thread.join().unwrap();
    end(page);
}

fn simulate_sleeping(page: &'static Page) {
    const SLEEP: Duration = Duration::from_millis(5);
    begin(page);
    let (tid, thread) = start(|| {
        while !STOP.load(Ordering::Relaxed) {
            let time = libc::timespec { tv_sec: 0, tv_nsec: SLEEP.as_nanos() as _ };
            let begun = Instant::now();
            // SAFETY: a live timespec, and no place for the rest.
            let ended_early = unsafe { libc::nanosleep(&time, null_mut()) } != 0 || begun.elapsed() < SLEEP;
            NOTICED.fetch_add(u64::from(ended_early), Ordering::SeqCst);
        }
    });
    capture_until_sent(page, || tid, |_| true);
    thread.join().unwrap();
    end(page);
}

/// The address of a mutex that the simulated app never frees.
static MUTEX: AtomicPtr<libc::pthread_mutex_t> = AtomicPtr::new(null_mut());

fn simulate_mutex(page: &'static Page) {
    begin(page);
    // SAFETY: all zeroes are a mutex that is not locked, in glibc (`PTHREAD_MUTEX_INITIALIZER`) and in bionic.
    MUTEX.store(Box::into_raw(Box::new(unsafe { std::mem::zeroed() })), Ordering::SeqCst);
    let lock = || {
        // SAFETY: a live mutex.
        assert_eq!(unsafe { libc::pthread_mutex_lock(MUTEX.load(Ordering::SeqCst)) }, 0);
    };
    let unlock = || {
        // SAFETY: a live mutex, which this thread owns.
        assert_eq!(unsafe { libc::pthread_mutex_unlock(MUTEX.load(Ordering::SeqCst)) }, 0);
    };
    static OWNED: AtomicBool = AtomicBool::new(false);
    let (owner, of_owner) = start(move || {
        lock();
        OWNED.store(true, Ordering::SeqCst);
        while !STOP.load(Ordering::SeqCst) {
            nap(1_000);
        }
        unlock();
    });
    wait_until("the owner", || OWNED.load(Ordering::SeqCst));
    let (waiter, of_waiter) = start(move || {
        lock();
        unlock();
    });
    let waits = || {
        let line = std::fs::read_to_string(format!("/proc/self/task/{waiter}/syscall")).unwrap_or_default();
        line.starts_with(&format!("{} ", libc::SYS_futex))
    };
    wait_until("the waiter", waits);
    // bionic's mutex holds 16 bits of the owner's id until Android 14, and the capture names no owner that it cannot know.
    let mutex = MUTEX.load(Ordering::SeqCst).addr() as u64;
    capture_until_sent(
        page,
        || waiter,
        |stack| {
            let names = stack.mutex.0 == mutex && i64::from(stack.mutex.1) == owner;
            names || stack.system_call.is_none() || cfg!(target_os = "android") && stack.mutex.1 == 0
        },
    );
    of_owner.join().unwrap();
    of_waiter.join().unwrap();
    end(page);
}

fn simulate_leader(page: &'static Page) {
    begin(page);
    let leader = own_id();
    let (_, thread) = start(move || capture_until_sent(page, || leader, |_| true));
    let right = sum();
    while !STOP.load(Ordering::SeqCst) {
        NOTICED.fetch_add(u64::from(sum() != right), Ordering::SeqCst);
        nap(500);
    }
    thread.join().unwrap();
    end(page);
}

/// A thread ends at any moment of its capture; a later one has its number at times.
fn simulate_ending(page: &'static Page) {
    begin(page);
    static TID: AtomicU64 = AtomicU64::new(0);
    let (first, thread) = start(|| {
        while !STOP.load(Ordering::SeqCst) {
            let short = std::thread::spawn(|| {
                TID.store(own_id() as u64, Ordering::SeqCst);
                black_box(sum());
                nap(700);
            });
            short.join().unwrap();
        }
    });
    TID.fetch_max(first as u64, Ordering::SeqCst);
    capture_until_sent(page, || TID.load(Ordering::SeqCst) as i64, |_| true);
    thread.join().unwrap();
    end(page);
}

extern "C" fn on_usr2(_: i32) {
    let right = sum();
    for _ in 0..20 {
        NOTICED.fetch_add(u64::from(black_box(sum()) != right), Ordering::SeqCst);
    }
}

/// The captured thread is often inside a handler of the app's, which runs on the thread's alternate stack.
fn simulate_alternate_stack(page: &'static Page) {
    begin(page);
    // SAFETY: a handler of the form that the flags say.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_usr2 as *const () as usize;
        action.sa_flags = libc::SA_ONSTACK | libc::SA_RESTART;
        assert_eq!(libc::sigaction(libc::SIGUSR2, &action, null_mut()), 0);
    }
    let (tid, thread) = start(|| {
        let right = sum();
        while !STOP.load(Ordering::SeqCst) {
            // SAFETY: two integers; the handler is installed. Rust gave this thread an alternate stack.
            unsafe { libc::raise(libc::SIGUSR2) };
            NOTICED.fetch_add(u64::from(sum() != right), Ordering::SeqCst);
        }
    });
    capture_until_sent(page, || tid, |_| true);
    thread.join().unwrap();
    end(page);
}

static OTHERS: AtomicU64 = AtomicU64::new(0);

extern "C" fn on_other(_: i32) {
    OTHERS.fetch_add(1, Ordering::SeqCst);
}

/// Other code takes our signal's number: it keeps it, and gets what it sends.
fn simulate_replaced(page: &'static Page) {
    begin(page);
    let (tid, thread) = start(compute);
    let slot = slot();
    let mut counts = Counts::default();
    wait_until("a capture", || take(tid, &slot, &mut counts).is_some());
    let signal = capture().signal();
    // SAFETY: a handler of the form that the flags say, and a signal to this process.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = on_other as *const () as usize;
        action.sa_flags = libc::SA_RESTART;
        assert_eq!(libc::sigaction(signal, &action, null_mut()), 0);
    }
    let mut after = Counts::default();
    for _ in 0..10 {
        take(tid, &slot, &mut after);
    }
    let none_was_sent = OTHERS.load(Ordering::SeqCst) == 0;
    // SAFETY: as above.
    unsafe { libc::raise(signal) };
    page.answer(answer::WRONG, counts.wrong + after.wrong);
    page.answer(answer::TAKEN, counts.by_signal + counts.without_signal);
    page.answer(
        answer::AFTER,
        i64::from(after.refused == 10 && none_was_sent && OTHERS.load(Ordering::SeqCst) == 1),
    );
    STOP.store(true, Ordering::SeqCst);
    thread.join().unwrap();
    page.reach(1);
    end(page);
}

fn judge_replaced(subject: &mut Subject) {
    subject.await_step(2);
    let answer = |index| subject.page.answered(index);
    assert!(answer(answer::TAKEN) >= 1);
    assert_eq!((answer(answer::WRONG), answer(answer::NOTICED), answer(answer::AFTER)), (0, 0, 1));
}

/// A computing thread is captured while another forks: the child captures nothing, and both live.
fn simulate_forks(page: &'static Page) {
    begin(page);
    let (tid, thread) = start(compute);
    let forking = std::thread::spawn(move || {
        while !STOP.load(Ordering::SeqCst) {
            // SAFETY: the child makes system calls only.
            unsafe {
                let child = libc::fork();
                if child == 0 {
                    libc::_exit(7);
                }
                let mut status = 0;
                while libc::waitpid(child, &mut status, 0) == -1 {}
                let well = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7;
                NOTICED.fetch_add(u64::from(!well), Ordering::SeqCst);
            }
            nap(500);
        }
    });
    capture_until_sent(page, || tid, |_| true);
    thread.join().unwrap();
    forking.join().unwrap();
    end(page);
}
