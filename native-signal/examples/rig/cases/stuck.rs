//! A leader that does not run, and children.

use super::Row;
use super::art::{
    answer_counters, block_as_art, blocks, current_handler, install, leader_is_stalled, page_of_handlers,
    scribe, set_handler, start_catcher,
};
use super::driver::Subject;
use super::page::{Page, nap, wait_until};
use native_signal::{Config, InstallError, Mode};
use std::sync::atomic::Ordering;
use std::thread;

pub(super) const CASES: &[Row] = &[
    ("vfork_rescued", simulate_vfork_rescued, judge_vfork_rescued),
    ("vfork_without_rescue", simulate_vfork_alone, judge_vfork_alone),
    ("vfork_rescued_without_descriptors", simulate_vfork_no_descriptors, judge_vfork_no_descriptors),
    ("vfork_before_a_previous_handler", simulate_vfork_previous, judge_vfork_previous),
    ("masked_by_foreign_code", simulate_masked, judge_masked),
    ("leader_in_a_ptrace_stop", simulate_stopped, judge_stopped),
    ("fork_and_the_child", simulate_fork, judge_fork),
    ("spinning_leader", simulate_spinning, judge_spinning),
];

/// Given to the child of a `vfork`, which ends it: the page, and the step that the judge must allow.
struct Sleep {
    page: &'static Page,
    until: u64,
}

/// Longer than the judge waits for anything; only if it was killed does a sleep last so long.
const LONGEST_SLEEP_MS: u64 = 60_000;

extern "C" fn sleep_and_exit(sleep: *mut libc::c_void) -> i32 {
    // SAFETY: what `sleep_uninterruptibly` keeps until this child is done.
    let sleep = unsafe { &*sleep.cast::<Sleep>() };
    for _ in 0..LONGEST_SLEEP_MS {
        if sleep.page.allowed.load(Ordering::SeqCst) >= sleep.until {
            break;
        }
        nap(1000);
    }
    // SAFETY: ends the child without running what belongs to the parent.
    unsafe { libc::_exit(0) }
}

/// What `vfork` does: the calling thread is in uninterruptible sleep until the child is done, which is when the judge
/// allows a step.
fn sleep_uninterruptibly(page: &'static Page, until: u64) {
    let mut stack = vec![0u8; 256 * 1024];
    let top = (stack.as_mut_ptr() as usize + stack.len()) & !15;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    let sleep = Sleep { page, until };
    let argument = (&raw const sleep).cast_mut().cast();
    // SAFETY: the stack and the argument outlive the child, for this thread waits for its end; the child only sleeps
    // and exits.
    let pid = unsafe { libc::clone(sleep_and_exit, top as *mut _, flags, argument) };
    assert!(pid > 0);
    // SAFETY: our child; its status is not asked for.
    while unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) } != pid {}
}

/// How often the judge may ask for another uninterruptible sleep.
const SLEEPS: u64 = 8;

/// Sleeps at each even step that is allowed, until the next; at the odd ones it runs. Step 100 is the end.
fn simulate_vfork(page: &'static Page, config: Config) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    leader_is_stalled();
    let sensor = native_signal::install(config, scribe(page)).unwrap();
    sleep_on_demand(page);
    answer_counters(page, &sensor);
    page.reach(100);
    page.wait_allowed(101);
}

fn sleep_on_demand(page: &'static Page) {
    page.reach(1);
    for round in 1..=SLEEPS {
        page.wait_allowed(2 * round);
        if page.allowed.load(Ordering::SeqCst) >= 100 {
            return;
        }
        page.reach(2 * round);
        sleep_uninterruptibly(page, 2 * round + 1);
        page.reach(2 * round + 1);
    }
    page.wait_allowed(100);
}

fn simulate_vfork_rescued(page: &'static Page) {
    simulate_vfork(page, Config::default());
}

fn simulate_vfork_alone(page: &'static Page) {
    simulate_vfork(page, Config { rescue_after: None, ..Config::default() });
}

/// As an app that leaks descriptors until it hangs.
fn simulate_vfork_no_descriptors(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    let mut held = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        held.push(file);
    }
    sleep_on_demand(page);
    drop(held);
    answer_counters(page, &sensor);
    page.reach(100);
    page.wait_allowed(101);
}

/// Whether the leader is in uninterruptible sleep.
fn sleeps_uninterruptibly(subject: &Subject) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{}/status", subject.pid())).unwrap();
    status.lines().any(|line| line.starts_with("State:\tD"))
}

/// Lets the leader go to sleep for the first, second, ... time and sends one signal while it does; gives when.
fn send_while_sleeping(subject: &mut Subject, round: u64) -> u64 {
    subject.leader_opens();
    subject.allow(2 * round);
    subject.await_step(2 * round);
    wait_until("uninterruptible sleep", || sleeps_uninterruptibly(subject));
    let sent_ns = native_signal::boottime_ns();
    subject.send();
    sent_ns
}

/// Lets the leader run again.
fn wake(subject: &mut Subject, round: u64) {
    subject.allow(2 * round + 1);
    subject.await_step(2 * round + 1);
}

fn end(subject: &mut Subject) {
    subject.allow(100);
    subject.await_step(100);
}

/// The rescue waits for 200 ms, and the signal is to be with the catcher within 300. The machine may be busy with other
/// things for longer than that, so one of several tries must show it; but each must arrive *while* the leader sleeps.
const IN_TIME_MS: u64 = 300;

fn judge_vfork_rescued(subject: &mut Subject) {
    let received = |page: &Page| page.catcher.count();
    subject.send_sensed(5, received);
    let mut expected = 5;
    let mut took = Vec::new();
    for round in 1..=SLEEPS {
        let sent_ns = send_while_sleeping(subject, round);
        expected += 1;
        wait_until("the catcher, while the leader sleeps", || received(subject.page) == expected);
        assert!(sleeps_uninterruptibly(subject), "the leader sleeps until it is woken below");
        took.push(subject.page.catcher.last().saturating_sub(sent_ns) / 1_000_000);
        subject.settles_at("the observer", expected, |page| page.observer.count());
        let report = &subject.page.reports[expected as usize - 1];
        assert_eq!(report.kind.load(Ordering::SeqCst), 3);
        assert_eq!(report.si_pid.load(Ordering::SeqCst), i64::from(std::process::id()));
        wake(subject, round);
        // After the sleep nothing more comes of it.
        subject.settles_at("the catcher", expected, received);
        if took.last().is_some_and(|&took| took <= IN_TIME_MS) {
            break;
        }
    }
    println!("  rescued {took:?} ms after it was sent, while the leader slept");
    assert!(took.iter().any(|took| (100..=IN_TIME_MS).contains(took)), "{took:?} ms");
    end(subject);
    let rescued = took.len() as i64;
    assert_eq!(
        [8, 9, 10, 12].map(|index| subject.page.answered(index)),
        [5 + rescued, 5 + rescued, 0, rescued]
    );
}

fn judge_vfork_alone(subject: &mut Subject) {
    let received = |page: &Page| page.catcher.count();
    subject.send_sensed(5, received);
    let sent_ns = send_while_sleeping(subject, 1);
    // Ten times as long as the rescue takes.
    nap(2_000_000);
    assert!(sleeps_uninterruptibly(subject));
    assert_eq!((received(subject.page), subject.page.observer.count()), (5, 5), "no thread receives it");
    let woken_ns = native_signal::boottime_ns();
    wake(subject, 1);
    subject.settles_at("the catcher", 6, received);
    assert!(subject.page.catcher.last() >= woken_ns, "only when the leader runs again");
    println!("  without the rescue after {} ms, when the leader was woken", (woken_ns - sent_ns) / 1_000_000);
    end(subject);
    assert_eq!([8, 9, 10, 12].map(|index| subject.page.answered(index)), [6, 6, 0, 0]);
}

fn judge_vfork_no_descriptors(subject: &mut Subject) {
    let received = |page: &Page| page.catcher.count();
    subject.send_sensed(5, received);
    send_while_sleeping(subject, 1);
    wait_until("the catcher, while the leader sleeps", || received(subject.page) == 6);
    assert!(sleeps_uninterruptibly(subject));
    wake(subject, 1);
    subject.settles_at("the catcher", 6, received);
    end(subject);
    assert_eq!([8, 9, 10, 12].map(|index| subject.page.answered(index)), [6, 6, 0, 1]);
}

extern "C" fn previous(_signal: i32) {
    let page = page_of_handlers();
    page.answer(0, super::art::own_id());
    page.previous.note();
}

fn simulate_vfork_previous(page: &'static Page) {
    set_handler(page, previous as *const () as usize, libc::SA_RESTART, &[]);
    // A second thread on which the previous handler can run, as HotSpot's.
    thread::spawn(move || {
        page.answer(3, super::art::own_id());
        page.wait_allowed(u64::MAX);
    });
    wait_until("the second thread", || page.answered(3) != 0);
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::BeforePreviousHandler);
    sleep_on_demand(page);
    answer_counters(page, &sensor);
    page.reach(100);
    page.wait_allowed(101);
}

fn judge_vfork_previous(subject: &mut Subject) {
    let received = |page: &Page| page.previous.count();
    subject.send_sensed(5, received);
    send_while_sleeping(subject, 1);
    wait_until("the previous handler, while the leader sleeps", || received(subject.page) == 6);
    assert!(sleeps_uninterruptibly(subject));
    assert_eq!(subject.page.answered(0), subject.page.answered(3), "on the other thread");
    subject.settles_at("the observer", 6, |page| page.observer.count());
    assert_eq!(subject.page.reports[5].kind.load(Ordering::SeqCst), 3);
    wake(subject, 1);
    subject.settles_at("the previous handler", 6, received);
    end(subject);
    assert_eq!([8, 10, 12].map(|index| subject.page.answered(index)), [6, 0, 1]);
}

fn simulate_masked(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let _sensor = install(page);
    page.reach(1);
    page.wait_allowed(2);
    block_as_art();
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_masked(subject: &mut Subject) {
    let received = |page: &Page| page.catcher.count();
    subject.send_sensed(5, received);
    subject.allow(2);
    subject.await_step(2);
    // The catcher waits: the kernel gives it the signal.
    subject.send_spaced(5, received);
    assert_eq!(subject.page.observer.count(), 5);
}

fn simulate_stopped(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    page.reach(1);
    page.wait_allowed(2);
    answer_counters(page, &sensor);
    page.reach(2);
    page.wait_allowed(3);
}

/// `include/uapi/linux/ptrace.h`; the libc crate lacks them on Android.
const PTRACE_SEIZE: i32 = 0x4206;
const PTRACE_INTERRUPT: i32 = 0x4207;

/// A request that takes no data.
fn ptrace(request: i32, pid: i32) -> i64 {
    let none = std::ptr::null_mut::<libc::c_void>();
    // SAFETY: the requests made here read and write no memory.
    unsafe { libc::ptrace(request as _, pid, none, none) as i64 }
}

/// A debugger holds the leader, and the catcher is busy: the signal waits for the process, and would until one of them
/// goes on.
fn judge_stopped(subject: &mut Subject) {
    let received = |page: &Page| page.catcher.count();
    subject.send_sensed(3, received);
    // One that was in sigwait takes one more before it is busy.
    subject.page.catcher_busy.store(1, Ordering::SeqCst);
    subject.send_sensed(1, received);
    let pid = subject.pid();
    // The judge made the simulated app, so it may trace it everywhere.
    assert_eq!(ptrace(PTRACE_SEIZE, pid), 0, "{}", std::io::Error::last_os_error());
    assert_eq!(ptrace(PTRACE_INTERRUPT, pid), 0);
    let status = format!("/proc/{pid}/status");
    wait_until("the stop", || std::fs::read_to_string(&status).unwrap().contains("State:\tt"));
    subject.send();
    // Noted by the rescue, while both are held: it is pending for the catcher now, not for the process.
    wait_until("the rescue", || subject.page.observer.count() == 5);
    assert_eq!(subject.page.reports[4].kind.load(Ordering::SeqCst), 3);
    assert_eq!(received(subject.page), 4);
    subject.page.catcher_busy.store(0, Ordering::SeqCst);
    wait_until("the catcher, while the leader is held", || received(subject.page) == 5);
    assert!(std::fs::read_to_string(&status).unwrap().contains("State:\tt"));
    let mut stop = 0;
    // SAFETY: our child, a place for its status; then a request that takes no data.
    unsafe { libc::waitpid(pid, &mut stop, libc::__WALL) };
    assert_eq!(ptrace(libc::PTRACE_DETACH as i32, pid), 0);
    subject.settles_at("the catcher", 5, received);
    subject.send_sensed(3, received);
    subject.allow(2);
    subject.await_step(2);
    assert_eq!([8, 9, 10, 12].map(|index| subject.page.answered(index)), [8, 8, 0, 1]);
}

fn simulate_fork(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    page.reach(1);
    page.wait_allowed(2);
    // SAFETY: the child uses nothing that another thread could have held locked but its own calls below.
    let child = unsafe { libc::fork() };
    if child == 0 {
        page.answer(0, blocks(libc::SIGQUIT).into());
        page.answer(1, i64::from(current_handler() != libc::SIG_DFL));
        // Opened by its own code: the handler runs in the child, and must leave the parent alone.
        super::art::set_blocked(&[]);
        for _ in 0..20 {
            // SAFETY: integers.
            unsafe { libc::kill(libc::getpid(), libc::SIGQUIT) };
        }
        let again = native_signal::install(Config::default(), Box::new(|_| {}));
        page.answer(2, i64::from(matches!(again, Err(InstallError::ForkedChild))));
        drop(sensor);
        page.answer(3, 1);
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: our child, a place for its status.
    while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
    page.answer(4, status.into());
    page.reach(2);
    page.wait_allowed(3);
    answer_counters(page, &sensor);
    page.reach(3);
    page.wait_allowed(4);
}

fn judge_fork(subject: &mut Subject) {
    subject.send_sensed(5, |page| page.catcher.count());
    subject.allow(2);
    subject.await_step(2);
    assert_eq!([0, 1, 2, 3, 4].map(|index| subject.page.answered(index)), [1, 1, 1, 1, 0]);
    subject.settles_at("the parent's catcher", 5, |page| page.catcher.count());
    subject.send_sensed(5, |page| page.catcher.count());
    subject.settles_at("the parent's observer", 10, |page| page.observer.count());
    subject.allow(3);
    subject.await_step(3);
    assert_eq!([8, 9].map(|index| subject.page.answered(index)), [10, 10]);
}

fn simulate_spinning(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    page.reach(1);
    while page.allowed.load(Ordering::Relaxed) < 2 {
        std::hint::spin_loop();
    }
    answer_counters(page, &sensor);
    page.reach(2);
}

fn judge_spinning(subject: &mut Subject) {
    for _ in 0..100 {
        subject.send_sensed(1, |page| page.catcher.count());
        subject.leader_runs();
    }
    subject.settles_at("the observer", 100, |page| page.observer.count());
    subject.allow(2);
    subject.await_step(2);
    // On a machine with more to do than it can, a leader that spins may have no CPU for as long as one that sleeps.
    let rescued =
        subject.page.reports.iter().filter(|report| report.kind.load(Ordering::SeqCst) == 3).count();
    assert_eq!([8, 9, 10, 12].map(|index| subject.page.answered(index)), [100, 100, 0, rescued as i64]);
}
