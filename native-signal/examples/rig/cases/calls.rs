//! What the handler calls, and on which stack it runs.

use super::Row;
use super::alloc::{forbid, permit};
use super::art::{
    answer_counters, block_as_art, install, leader_is_stalled, page_of_handlers, set_blocked, set_handler,
    start_catcher, write_down,
};
use super::driver::Subject;
use super::page::{Page, nap, wait_until};
use std::process::{Child, Command, Stdio};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) const CASES: &[Row] = &[
    ("handler_makes_three_system_calls", simulate_traced, judge_traced),
    ("handler_does_not_allocate", simulate_without_malloc, judge_without_malloc),
    ("our_thread_does_not_allocate", simulate_thread_without_malloc, judge_thread_without_malloc),
    ("an_allocation_would_be_noticed", simulate_allocates, |_| {}),
    ("alternate_stack_for_a_leader_without_one", simulate_no_stack, judge_no_stack),
];

fn received(page: &Page) -> u64 {
    page.catcher.count()
}

fn simulate_traced(page: &'static Page) {
    // Where a process may only be traced by its parents, anybody may trace this one. Unknown elsewhere: no matter.
    // SAFETY: integers.
    unsafe { libc::prctl(0x5961_6d61, -1) };
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let _sensor = install(page);
    page.reach(1);
    page.wait_allowed(2);
}

/// Starts strace on a process and waits until it traces; `None` if strace is not installed.
fn trace(pid: i32, output: &std::path::Path) -> Option<Child> {
    let mut strace = Command::new("strace")
        .args(["-f", "-p", &pid.to_string(), "-o"])
        .arg(output)
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let status = format!("/proc/{pid}/status");
    loop {
        if !std::fs::read_to_string(&status).unwrap().contains("TracerPid:\t0") {
            return Some(strace);
        }
        assert!(strace.try_wait().unwrap().is_none(), "strace ended: may it trace here?");
        nap(1000);
    }
}

fn judge_traced(subject: &mut Subject) {
    let output = std::env::temp_dir().join(format!("anrscope-rig-{}-strace", std::process::id()));
    let Some(mut strace) = trace(subject.pid(), &output) else {
        // A device has none; elsewhere a case that checks nothing must not pass.
        if !cfg!(target_os = "android") {
            panic!("no strace: scripts/install-test-needs installs it");
        }
        println!("  NOT CHECKED: there is no strace");
        return;
    };
    // While strace holds the leader, the kernel gives a signal to the catcher.
    for _ in 0..1000 {
        if subject.page.observer.count() >= 10 {
            break;
        }
        subject.send_spaced(1, received);
        nap(20_000);
    }
    // SAFETY: our child: it detaches and ends.
    unsafe { libc::kill(strace.id() as i32, libc::SIGINT) };
    strace.wait().unwrap();
    let text = std::fs::read_to_string(&output).unwrap();
    let _ = std::fs::remove_file(&output);
    let calls = calls_in_handlers(&text, subject.pid());
    assert!(calls.len() >= 10, "{text}");
    for calls in calls {
        // A kernel or a virtual machine without a clock in user space shows that call as well.
        let calls: Vec<&str> = calls.into_iter().filter(|call| !call.starts_with("clock_gettime")).collect();
        assert_eq!(calls, ["getpid", "tgkill", "futex"]);
    }
}

/// The system calls of one thread from each SIGQUIT to its return.
fn calls_in_handlers(strace: &str, tid: i32) -> Vec<Vec<&str>> {
    let mut handlers = Vec::new();
    let mut open: Option<Vec<&str>> = None;
    for line in strace.lines() {
        let Some((thread, what)) = line.split_once(' ') else { continue };
        let what = what.trim_start();
        if thread != tid.to_string() {
            continue;
        }
        if what.starts_with("--- SIGQUIT") {
            open = Some(Vec::new());
        } else if what.starts_with("rt_sigreturn") || what.starts_with("sigreturn") {
            handlers.extend(open.take());
        } else if let (Some(calls), false) = (&mut open, what.starts_with("<...")) {
            calls.extend(what.split_once('(').map(|(call, _)| call));
        }
    }
    handlers
}

fn simulate_without_malloc(page: &'static Page) {
    block_as_art();
    let first = start_catcher(page, "Signal Catcher", 100);
    let sensor = install(page);
    page.reach(1);
    forbid();
    while page.allowed.load(Ordering::SeqCst) < 2 {
        std::hint::spin_loop();
    }
    permit();
    // And where tgkill fails, and our thread has to pay.
    first.join().unwrap();
    start_catcher(page, "Signal Catcher", u64::MAX);
    page.reach(2);
    forbid();
    while page.allowed.load(Ordering::SeqCst) < 3 {
        std::hint::spin_loop();
    }
    permit();
    answer_counters(page, &sensor);
    page.reach(3);
    page.wait_allowed(4);
}

/// A catcher that ends may have taken its last signal away with it. For a second the sensor sends it once more to one
/// that comes; and while that one is at it, the kernel may give it the next signal too, past us.
const DOUBT_US: u64 = 1_500_000;

fn judge_without_malloc(subject: &mut Subject) {
    subject.send_sensed(100, received);
    subject.allow(2);
    subject.await_step(2);
    nap(DOUBT_US);
    subject.send_sensed(20, received);
    subject.allow(3);
    subject.await_step(3);
    assert_eq!([8, 10].map(|index| subject.page.answered(index)), [120, 0]);
}

/// Our own thread neither: the hang may be in the allocator.
fn simulate_thread_without_malloc(page: &'static Page) {
    block_as_art();
    let first = start_catcher(page, "Signal Catcher", 10);
    leader_is_stalled();
    let sensor = native_signal::install(
        native_signal::Config::default(),
        Box::new(move |sensed| {
            // From the first signal on, for good.
            forbid();
            write_down(page, sensed);
        }),
    )
    .unwrap();
    page.reach(1);
    first.join().unwrap();
    start_catcher(page, "Signal Catcher", u64::MAX);
    page.reach(2);
    page.wait_allowed(3);
    // Masked by foreign code while the catcher is busy: a rescue.
    set_blocked(&[libc::SIGQUIT]);
    page.reach(3);
    page.wait_allowed(4);
    answer_counters(page, &sensor);
    permit();
    page.reach(4);
    page.wait_allowed(5);
}

fn judge_thread_without_malloc(subject: &mut Subject) {
    subject.send_sensed(10, received);
    // The catcher ended, and another came.
    subject.await_step(2);
    nap(DOUBT_US);
    subject.send_sensed(10, received);
    subject.page.catcher_busy.store(1, Ordering::SeqCst);
    // One that was in sigwait takes one more before it is busy.
    subject.send_sensed(1, received);
    subject.allow(3);
    subject.await_step(3);
    let report = subject.page.observer.count();
    let taken = received(subject.page);
    subject.send();
    wait_until("the rescue", || subject.page.observer.count() > report);
    subject.page.catcher_busy.store(0, Ordering::SeqCst);
    wait_until("the catcher", || received(subject.page) > taken);
    subject.allow(4);
    subject.await_step(4);
    assert_eq!([8, 10, 12].map(|index| subject.page.answered(index)), [22, 0, 1]);
}

fn simulate_allocates(page: &'static Page) {
    // SAFETY: the child allocates and dies.
    let child = unsafe { libc::fork() };
    if child == 0 {
        forbid();
        std::hint::black_box(Box::new(7));
        // SAFETY: ends the child.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: our child, a place for its status.
    while unsafe { libc::waitpid(child, &mut status, 0) } != child {}
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGABRT, "{status}");
    page.reach(1);
}

fn altstack() -> libc::stack_t {
    let mut stack = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: 0, ss_size: 0 };
    // SAFETY: nothing is set; a place for the answer.
    assert_eq!(unsafe { libc::sigaltstack(ptr::null(), &mut stack) }, 0);
    stack
}

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// Looks where it runs, and calls ours.
extern "C" fn looks(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let page = page_of_handlers();
    page.answers[0].fetch_add(i64::from(altstack().ss_flags & libc::SS_ONSTACK != 0), Ordering::SeqCst);
    // SAFETY: our handler, which has SA_SIGINFO.
    let next: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
        unsafe { std::mem::transmute(NEXT.load(Ordering::SeqCst)) };
    next(signal, info, context);
}

fn simulate_no_stack(page: &'static Page) {
    let none = libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 64 * 1024 };
    // SAFETY: this thread runs on no alternate stack.
    assert_eq!(unsafe { libc::sigaltstack(&none, ptr::null_mut()) }, 0);
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    let given = altstack();
    assert_eq!(given.ss_flags, 0, "it was given one");
    let flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    NEXT.store(super::art::current_handler(), Ordering::SeqCst);
    set_handler(page, looks as *const () as usize, flags, &[]);
    page.reach(1);
    page.wait_allowed(2);
    drop(sensor);
    assert_eq!(altstack().ss_flags, libc::SS_DISABLE, "as it was");
    let _sensor = install(page);
    assert_eq!(altstack().ss_sp, given.ss_sp);
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_no_stack(subject: &mut Subject) {
    subject.send_sensed(20, received);
    assert_eq!(subject.page.answered(0), 20, "each time on the alternate stack");
    subject.allow(2);
    subject.await_step(2);
    subject.send_sensed(5, received);
    subject.settles_at("the catcher", 25, received);
}
