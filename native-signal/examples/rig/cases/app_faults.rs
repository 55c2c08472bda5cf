//! What other code in the app does to the signal, to our descriptors and to the system calls: the app lives, and the Signal
//! Catcher or the previous handler gets what it would get without us.

use super::Row;
use super::art::{
    answer_counters, block_as_art, blocks, current_handler, install, page_of_handlers, set_handler,
    start_catcher,
};
use super::driver::Subject;
use super::page::{Page, nap};
use native_signal::{Displaced, Mode, PassiveReason, Uninstalled};
use std::fs::{self, OpenOptions};
use std::hint::black_box;
use std::io::{Seek, SeekFrom, Write};
use std::mem::ManuallyDrop;
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use trace_format::time::SECOND;

pub(super) const CASES: &[Row] = &[
    ("app_closes_all_descriptors", simulate_closed, judge_closed),
    ("app_reuses_all_descriptor_numbers", simulate_reused, judge_closed),
    ("default_action_without_us", |page| simulate_removed(page, libc::SIG_DFL, false), judge_removed),
    ("default_action_set_after_us", |page| simulate_removed(page, libc::SIG_DFL, true), judge_removed),
    ("ignored_without_us", |page| simulate_removed(page, libc::SIG_IGN, false), judge_removed),
    ("ignored_after_us", |page| simulate_removed(page, libc::SIG_IGN, true), judge_removed),
    ("default_action_set_while_main_is_stalled", simulate_removed_while_stalled, judge_removed_while_stalled),
    ("default_action_set_between_two_installs", simulate_removed_between, judge_removed_between),
    ("chained_without_siginfo", simulate_no_siginfo, judge_no_siginfo),
    ("chained_in_a_cycle_without_siginfo", simulate_cycle, judge_cycle),
    ("tgkill_refused_by_seccomp", simulate_seccomp, judge_seccomp),
];

fn received(page: &Page) -> u64 {
    page.catcher.count()
}

/// The numbers that an app closes which closes more than it opened, as a function that makes a daemon of it does.
const NUMBERS: std::ops::Range<i32> = 3..200;

/// What the process has open.
fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}

fn close_all() {
    for number in NUMBERS {
        // SAFETY: closes a number; the rig holds no file that it needs.
        unsafe { libc::close(number) };
    }
}

fn answer_wakeups(page: &'static Page, sensor: &native_signal::Sensor) {
    answer_counters(page, sensor);
    page.answer(0, sensor.wakeups() as i64);
    page.reach(2);
    page.wait_allowed(3);
}

fn simulate_closed(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let before = descriptors();
    let sensor = install(page);
    assert_eq!(descriptors(), before, "the sensor keeps no descriptor");
    close_all();
    page.reach(1);
    page.wait_allowed(2);
    answer_wakeups(page, &sensor);
}

/// What the app's database holds, and where the app stands in it.
const DATABASE: &[u8] = b"rows of the app's database";
const AT: u64 = 5;

fn simulate_reused(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    close_all();
    let path = std::env::temp_dir().join(format!("anrscope-rig-{}-database", std::process::id()));
    let mut file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
    file.write_all(DATABASE).unwrap();
    file.seek(SeekFrom::Start(AT)).unwrap();
    // Its own number is closed below with the others.
    let mut file = ManuallyDrop::new(file);
    // Every number that could have been one of the library's is the app's file now.
    for number in NUMBERS {
        // SAFETY: an open descriptor, and a number that nothing of the rig's uses.
        unsafe { libc::dup2(file.as_raw_fd(), number) };
    }
    page.reach(1);
    page.wait_allowed(2);
    assert_eq!(file.stream_position().unwrap(), AT, "the file was read or written");
    assert_eq!(fs::read(&path).unwrap(), DATABASE);
    fs::remove_file(&path).unwrap();
    // Room for the answers' own files.
    close_all();
    answer_wakeups(page, &sensor);
}

/// The most wake-ups of the sensor's thread that a signal may cost: its own, and checks whether the catcher took it.
const WAKEUPS_A_SIGNAL: i64 = 5;

fn judge_closed(subject: &mut Subject) {
    let signals = 20;
    subject.send_sensed(signals, received);
    // Long enough for a thread that spins to wake a million times.
    nap(1_000_000);
    subject.allow(2);
    subject.await_step(2);
    let signals = signals as i64;
    assert_eq!([8, 9, 10].map(|index| subject.page.answered(index)), [signals, signals, 0]);
    let wakeups = subject.page.answered(0);
    println!("  {wakeups} wake-ups of the sensor's thread for {signals} signals");
    assert!(wakeups <= WAKEUPS_A_SIGNAL * signals, "{wakeups} wake-ups: it spins");
}

/// Other code in the app, as an SDK that gives up the signal: it sets the default action, or ignores SIGQUIT.
fn simulate_removed(page: &'static Page, action: usize, with_us: bool) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = with_us.then(|| install(page));
    page.reach(1);
    page.wait_allowed(2);
    set_handler(page, action, 0, &[]);
    if let Some(sensor) = &sensor {
        // The ends of three messages, two seconds apart.
        let displaced = Displaced { handler: action, blocked: true };
        assert_eq!(sensor.check_displaced(SECOND), Some(displaced));
        assert_eq!(sensor.mode(), Mode::Passive { reason: PassiveReason::HandlerRemoved });
        assert_eq!(sensor.check_displaced(3 * SECOND), None, "reported once");
        assert!(native_signal::open_in_this_thread().is_err(), "never with this action behind it");
    }
    assert!(blocks(libc::SIGQUIT), "as ART has it");
    page.reach(2);
    page.wait_allowed(3);
    assert_eq!(current_handler(), action, "left as it is");
}

fn judge_removed(subject: &mut Subject) {
    subject.send_spaced(5, received);
    subject.allow(2);
    subject.await_step(2);
    subject.send_spaced(20, received);
    subject.settles_at("the catcher", 25, received);
}

fn simulate_removed_while_stalled(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    page.reach(1);
    page.wait_allowed(2);
    set_handler(page, libc::SIG_DFL, 0, &[]);
    // Main does not come to the end of its message; the timer's thread looks.
    thread::scope(|scope| scope.spawn(|| sensor.keep_handled()).join().unwrap());
    page.reach(2);
    page.wait_allowed(3);
    let displaced = Displaced { handler: libc::SIG_DFL, blocked: true };
    assert_eq!(sensor.check_displaced(SECOND), Some(displaced));
    assert_eq!(sensor.mode(), Mode::Passive { reason: PassiveReason::HandlerRemoved });
    assert!(blocks(libc::SIGQUIT));
    page.reach(3);
    page.wait_allowed(4);
}

fn judge_removed_while_stalled(subject: &mut Subject) {
    subject.allow(2);
    subject.await_step(2);
    subject.send_sensed(5, received);
    subject.allow(3);
    subject.await_step(3);
    subject.send_spaced(5, received);
    subject.settles_at("the catcher", 10, received);
    assert_eq!(subject.page.observer.count(), 5);
}

fn simulate_removed_between(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    assert_eq!(install(page).uninstall(), Uninstalled::PassThrough { leader_open: false });
    set_handler(page, libc::SIG_DFL, 0, &[]);
    let sensor = install(page);
    assert!(matches!(sensor.mode(), Mode::BesideCatcher { .. }));
    assert_ne!(current_handler(), libc::SIG_DFL);
    page.reach(1);
    page.wait_allowed(2);
}

fn judge_removed_between(subject: &mut Subject) {
    subject.send_sensed(10, received);
    subject.settles_at("the catcher", 10, received);
}

extern "C" fn previous(_signal: i32) {
    page_of_handlers().previous.note();
}

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A handler that calls the one before it with the signal alone.
extern "C" fn without_siginfo(signal: i32) {
    let page = page_of_handlers();
    page.answers[0].fetch_add(1, Ordering::SeqCst);
    // SAFETY: a handler with SA_SIGINFO, which must bear what a careless caller gives it.
    let next: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
        unsafe { std::mem::transmute(NEXT.load(Ordering::SeqCst)) };
    next(signal, ptr::null_mut(), ptr::null_mut());
}

fn simulate_no_siginfo(page: &'static Page) {
    set_handler(page, previous as *const () as usize, libc::SA_RESTART, &[]);
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::BeforePreviousHandler);
    NEXT.store(current_handler(), Ordering::SeqCst);
    set_handler(page, without_siginfo as *const () as usize, libc::SA_RESTART, &[]);
    page.reach(1);
    // Each signal comes deeper in the stack: a call from inside the previous handler is known by its depth.
    while page.allowed.load(Ordering::SeqCst) < 2 {
        wait_deep_down(page, page.previous.count());
    }
    answer_counters(page, &sensor);
    page.reach(2);
    page.wait_allowed(3);
}

/// Waits, so many frames down, for the next signal or for the judge.
#[inline(never)]
fn wait_deep_down(page: &Page, frames: u64) {
    let frame = black_box([0u8; 512]);
    if frames > 0 {
        wait_deep_down(page, frames - 1);
    } else {
        let before = page.previous.count();
        while page.previous.count() == before && page.allowed.load(Ordering::SeqCst) < 2 {
            nap(200);
        }
    }
    black_box(frame);
}

fn judge_no_siginfo(subject: &mut Subject) {
    let previous = |page: &Page| page.previous.count();
    subject.send_sensed(41, previous);
    subject.settles_at("the previous handler", 41, previous);
    assert_eq!(subject.page.answered(0), 41, "each was chained to ours");
    subject.allow(2);
    subject.await_step(2);
    assert_eq!([8, 9, 10].map(|index| subject.page.answered(index)), [41, 41, 0]);
}

extern "C" fn without_siginfo_and_noted(signal: i32) {
    page_of_handlers().previous.note();
    without_siginfo(signal);
}

/// The handler that was there before ours puts itself on top again and chains to ours, which would call it again.
fn simulate_cycle(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let theirs = without_siginfo_and_noted as *const () as usize;
    super::art::set_blocked(&[]);
    set_handler(page, theirs, libc::SA_RESTART, &[]);
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::BeforePreviousHandler);
    NEXT.store(current_handler(), Ordering::SeqCst);
    set_handler(page, theirs, libc::SA_RESTART, &[]);
    page.reach(1);
    page.wait_allowed(2);
}

fn judge_cycle(subject: &mut Subject) {
    for round in 1..=20 {
        subject.send_taken(1, received);
        // It, then ours, then it once more as the previous handler; then the cycle ends, at the catcher.
        subject.settles_at("the chaining handler", round * 2, |page| page.previous.count());
        subject.settles_at("the catcher", round, received);
    }
}

/// One instruction of a seccomp filter, and the filter (`linux/filter.h`).
#[repr(C)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    operand: u32,
}

#[repr(C)]
struct Filter {
    length: u16,
    instructions: *const Instruction,
}

/// From here on `tgkill` gives EPERM in the calling thread and those it starts (man 2 seccomp).
fn refuse_tgkill() {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_EQUAL: u16 = 0x15;
    const RETURN: u16 = 0x06;
    const ALLOW: u32 = 0x7fff_0000;
    const ERRNO: u32 = 0x0005_0000;
    let step = |code, if_true, if_false, operand| Instruction { code, if_true, if_false, operand };
    let instructions = [
        // The number of the call is the first word of `seccomp_data`.
        step(LOAD_WORD, 0, 0, 0),
        step(JUMP_IF_EQUAL, 0, 1, libc::SYS_tgkill as u32),
        step(RETURN, 0, 0, ERRNO | libc::EPERM as u32),
        step(RETURN, 0, 0, ALLOW),
    ];
    let filter = Filter { length: instructions.len() as u16, instructions: instructions.as_ptr() };
    let (on, by_filter, none): (libc::c_ulong, libc::c_ulong, libc::c_ulong) = (1, 2, 0);
    // SAFETY: integers, and a filter that lives for the call.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, on, none, none, none), 0);
        assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, by_filter, &raw const filter, none, none), 0);
    }
}

fn simulate_seccomp(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    refuse_tgkill();
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::Passive { reason: PassiveReason::CannotForward });
    assert!(blocks(libc::SIGQUIT) && current_handler() == libc::SIG_DFL, "untouched");
    page.reach(1);
    page.wait_allowed(2);
}

fn judge_seccomp(subject: &mut Subject) {
    subject.send_spaced(10, received);
    subject.settles_at("the catcher", 10, received);
}
