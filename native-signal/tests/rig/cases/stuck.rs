//! A leader that does not run, and children.

use super::Row;
use super::art::{
    answer_counters, block_as_art, blocks, current_handler, install, page_of_handlers, scribe, set_handler,
    start_catcher,
};
use super::driver::Played;
use super::page::{Page, nap, wait_until};
use native_signal::{Config, InstallError, Mode};
use std::sync::atomic::Ordering;
use std::thread;

pub(super) const CASES: &[Row] = &[
    ("vfork_rescued", play_vfork_rescued, judge_vfork_rescued),
    ("vfork_without_rescue", play_vfork_alone, judge_vfork_alone),
    ("vfork_before_an_older_handler", play_vfork_older, judge_vfork_older),
    ("masked_by_foreign_code", play_masked, judge_masked),
    ("fork_and_the_child", play_fork, judge_fork),
    ("spinning_leader", play_spinning, judge_spinning),
];

/// How long the leader sleeps uninterruptibly; far more than a rescue takes, even on a machine under load.
const ASLEEP_MS: u64 = 4000;

extern "C" fn sleep_and_exit(_: *mut libc::c_void) -> i32 {
    nap(ASLEEP_MS * 1000);
    // SAFETY: ends the child without running what belongs to the parent.
    unsafe { libc::_exit(0) }
}

/// What `vfork` does: the calling thread is in uninterruptible sleep until the child is done.
fn sleep_uninterruptibly() {
    let mut stack = vec![0u8; 256 * 1024];
    let top = (stack.as_mut_ptr() as usize + stack.len()) & !15;
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack outlives the child, for this thread waits for its end; the child only sleeps and exits.
    let pid = unsafe { libc::clone(sleep_and_exit, top as *mut _, flags, std::ptr::null_mut()) };
    assert!(pid > 0);
    // SAFETY: our child; its status is not asked for.
    unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
}

fn play_vfork(page: &'static Page, config: Config) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = native_signal::install(config, scribe(page)).unwrap();
    page.reach(1);
    page.wait_allowed(2);
    page.reach(2);
    sleep_uninterruptibly();
    page.answer(0, page.catcher.count() as i64);
    page.answer(1, native_signal::boottime_ns() as i64);
    page.wait_allowed(3);
    answer_counters(page, &sensor);
    page.reach(3);
    page.wait_allowed(4);
}

fn play_vfork_rescued(page: &'static Page) {
    play_vfork(page, Config::default());
}

fn play_vfork_alone(page: &'static Page) {
    play_vfork(page, Config { rescue_after: None, ..Config::default() });
}

/// Lets the leader go to sleep and sends one signal while it does.
fn send_while_asleep(played: &mut Played) {
    played.send_sensed(5, |page| page.catcher.count() + page.older.count());
    played.allow(2);
    played.await_step(2);
    let status = format!("/proc/{}/status", played.pid());
    wait_until("uninterruptible sleep", || {
        std::fs::read_to_string(&status).unwrap().lines().any(|line| line.starts_with("State:\tD"))
    });
    played.send();
}

fn judge_vfork_rescued(played: &mut Played) {
    send_while_asleep(played);
    let sent_ns = native_signal::boottime_ns();
    played.settles_at("the catcher", 6, |page| page.catcher.count());
    let took_ms = played.page.catcher.last().saturating_sub(sent_ns) / 1_000_000;
    println!("  rescued {took_ms} ms after it was sent");
    assert!(took_ms < ASLEEP_MS / 2, "{took_ms} ms");
    played.settles_at("the observer", 6, |page| page.observer.count());
    let told = &played.page.told[5];
    assert_eq!(told.kind.load(Ordering::SeqCst), 3);
    assert_eq!(told.si_pid.load(Ordering::SeqCst), i64::from(std::process::id()));
    played.allow(3);
    played.await_step(3);
    // After the sleep nothing more comes of it.
    played.settles_at("the catcher", 6, |page| page.catcher.count());
    assert_eq!([8, 9, 10, 12].map(|index| played.page.answered(index)), [6, 6, 0, 1]);
}

fn judge_vfork_alone(played: &mut Played) {
    send_while_asleep(played);
    played.allow(3);
    played.await_step(3);
    played.settles_at("the catcher", 6, |page| page.catcher.count());
    // The same signal came only when the leader ran again. (A moment before it looked, or it was still to come.)
    let (awake_ns, got_ns) = (played.page.answered(1) as u64, played.page.catcher.last());
    let asleep_ns = ASLEEP_MS * 1_000_000;
    assert!(got_ns > awake_ns - asleep_ns / 2, "{got_ns} {awake_ns}");
}

extern "C" fn older(_signal: i32) {
    let page = page_of_handlers();
    page.answer(0, super::art::own_id());
    page.older.note();
}

fn play_vfork_older(page: &'static Page) {
    set_handler(page, older as *const () as usize, libc::SA_RESTART, &[]);
    // A second thread on which the older handler can run, as HotSpot's.
    thread::spawn(move || {
        page.answer(3, super::art::own_id());
        page.wait_allowed(u64::MAX);
    });
    wait_until("the second thread", || page.answered(3) != 0);
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::BeforeOlderHandler);
    page.reach(1);
    page.wait_allowed(2);
    page.reach(2);
    sleep_uninterruptibly();
    page.wait_allowed(3);
    answer_counters(page, &sensor);
    page.reach(3);
    page.wait_allowed(4);
}

fn judge_vfork_older(played: &mut Played) {
    send_while_asleep(played);
    played.settles_at("the older handler", 6, |page| page.older.count());
    assert_eq!(played.page.answered(0), played.page.answered(3), "on the other thread");
    played.settles_at("the observer", 6, |page| page.observer.count());
    assert_eq!(played.page.told[5].kind.load(Ordering::SeqCst), 3);
    played.allow(3);
    played.await_step(3);
    played.settles_at("the older handler", 6, |page| page.older.count());
    assert_eq!([8, 10, 12].map(|index| played.page.answered(index)), [6, 0, 1]);
}

fn play_masked(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let _sensor = install(page);
    page.reach(1);
    page.wait_allowed(2);
    block_as_art();
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_masked(played: &mut Played) {
    let received = |page: &Page| page.catcher.count();
    played.send_sensed(5, received);
    played.allow(2);
    played.await_step(2);
    // The catcher waits: the kernel gives it the signal.
    played.send_spaced(5, received);
    assert_eq!(played.page.observer.count(), 5);
}

fn play_fork(page: &'static Page) {
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

fn judge_fork(played: &mut Played) {
    played.send_sensed(5, |page| page.catcher.count());
    played.allow(2);
    played.await_step(2);
    assert_eq!([0, 1, 2, 3, 4].map(|index| played.page.answered(index)), [1, 1, 1, 1, 0]);
    played.settles_at("the parent's catcher", 5, |page| page.catcher.count());
    played.send_sensed(5, |page| page.catcher.count());
    played.settles_at("the parent's observer", 10, |page| page.observer.count());
    played.allow(3);
    played.await_step(3);
    assert_eq!([8, 9].map(|index| played.page.answered(index)), [10, 10]);
}

fn play_spinning(page: &'static Page) {
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

fn judge_spinning(played: &mut Played) {
    played.send_sensed(100, |page| page.catcher.count());
    played.settles_at("the observer", 100, |page| page.observer.count());
    played.allow(2);
    played.await_step(2);
    assert_eq!([8, 9, 10].map(|index| played.page.answered(index)), [100, 100, 0]);
}
