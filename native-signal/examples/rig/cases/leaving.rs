//! Uninstalling, being displaced, and coming and going while signals come.

use super::Row;
use super::art::{
    block_as_art, blocks, current_handler, install, page_of_handlers, set_handler, start_catcher,
};
use super::driver::Subject;
use super::page::{Page, nap};
use native_signal::{Displaced, Mode, PassiveReason, Uninstalled};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

pub(super) const CASES: &[Row] = &[
    ("uninstalled_on_the_leader", simulate_on_leader, judge_passed_on),
    ("uninstalled_elsewhere", simulate_elsewhere, judge_passed_on),
    ("uninstalled_under_a_chaining_handler", simulate_displaced, judge_displaced),
    ("install_and_uninstall_in_a_storm", simulate_coming_and_going, judge_coming_and_going),
    ("installed_again_without_a_catcher", simulate_again, judge_again),
    ("observer_drops_its_own_sensor", simulate_suicide, judge_suicide),
];

fn received(page: &Page) -> u64 {
    page.catcher.count()
}

fn simulate_on_leader(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    page.reach(1);
    page.wait_allowed(2);
    assert_eq!(sensor.uninstall(), Uninstalled::PassThrough { leader_open: false });
    assert!(blocks(libc::SIGQUIT));
    assert_ne!(current_handler(), libc::SIG_DFL);
    page.reach(2);
    page.wait_allowed(3);
}

fn simulate_elsewhere(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    page.reach(1);
    page.wait_allowed(2);
    let left = thread::spawn(move || sensor.uninstall()).join().unwrap();
    assert_eq!(left, Uninstalled::PassThrough { leader_open: true });
    page.reach(2);
    page.wait_allowed(3);
    assert!(native_signal::close_in_this_thread() && blocks(libc::SIGQUIT));
}

fn judge_passed_on(subject: &mut Subject) {
    subject.send_sensed(10, received);
    subject.settles_at("the observer", 10, |page| page.observer.count());
    subject.allow(2);
    subject.await_step(2);
    subject.send_spaced(10, received);
    subject.settles_at("the catcher", 20, received);
    assert_eq!(subject.page.observer.count(), 10);
}

static NEXT: AtomicUsize = AtomicUsize::new(0);

extern "C" fn chaining(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    page_of_handlers().previous.note();
    // SAFETY: our handler, which has SA_SIGINFO.
    let next: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
        unsafe { std::mem::transmute(NEXT.load(Ordering::SeqCst)) };
    next(signal, info, context);
}

fn simulate_displaced(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    assert!(!sensor.displaced());
    assert_eq!(sensor.check_displaced(1), None);
    NEXT.store(current_handler(), Ordering::SeqCst);
    set_handler(page, chaining as *const () as usize, libc::SA_SIGINFO | libc::SA_RESTART, &[]);
    assert!(sensor.displaced());
    // Reported once, and checked once a second.
    let second = 1_000_000_000;
    assert_eq!(sensor.check_displaced(second), None);
    let handler = chaining as *const () as usize;
    assert_eq!(sensor.check_displaced(second + 1), Some(Displaced { handler, blocked: false }));
    assert_eq!(sensor.check_displaced(3 * second), None);
    page.reach(1);
    page.wait_allowed(2);
    // Elsewhere, so that the leader stays open and the later handler keeps getting signals.
    let left = thread::spawn(move || sensor.uninstall()).join().unwrap();
    assert_eq!(left, Uninstalled::PassThrough { leader_open: true });
    assert_eq!(current_handler(), chaining as *const () as usize, "not fought");
    page.reach(2);
    page.wait_allowed(3);
    // Where it was, not on top.
    let sensor = install(page);
    assert!(sensor.displaced());
    assert_eq!(current_handler(), chaining as *const () as usize);
    page.reach(3);
    page.wait_allowed(4);
}

fn judge_displaced(subject: &mut Subject) {
    subject.send_sensed(10, received);
    subject.settles_at("the observer", 10, |page| page.observer.count());
    subject.allow(2);
    subject.await_step(2);
    subject.send_taken(10, received);
    assert_eq!((subject.page.previous.count(), subject.page.observer.count()), (20, 10));
    subject.allow(3);
    subject.await_step(3);
    subject.send_sensed(10, received);
    subject.settles_at("the observer", 20, |page| page.observer.count());
    subject.settles_at("the catcher", 30, received);
}

fn simulate_coming_and_going(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    page.reach(1);
    while page.allowed.load(Ordering::SeqCst) < 2 {
        let sensor = install(page);
        nap(300);
        sensor.uninstall();
        page.answers[0].fetch_add(1, Ordering::SeqCst);
    }
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_coming_and_going(subject: &mut Subject) {
    // One at a time, so that each must arrive.
    subject.send_spaced(500, received);
    subject.allow(2);
    subject.await_step(2);
    subject.settles_at("the catcher", 500, received);
    println!("  {} installs, {} of 500 sensed", subject.page.answered(0), subject.page.observer.count());
}

fn simulate_again(page: &'static Page) {
    block_as_art();
    let catcher = start_catcher(page, "Signal Catcher", 1);
    let tid = page.catcher_tid.load(Ordering::SeqCst);
    assert_eq!(install(page).uninstall(), Uninstalled::PassThrough { leader_open: false });
    page.reach(1);
    catcher.join().unwrap();
    // Joined is not gone: for a while it is still listed under its name, and no catcher for all that.
    let sensor = install(page);
    let listed = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat"));
    let seen = (sensor.counters(), listed);
    assert_eq!(sensor.mode(), Mode::Passive { reason: PassiveReason::DefaultAction }, "{seen:?}");
    assert!(blocks(libc::SIGQUIT));
    page.reach(2);
}

fn judge_again(subject: &mut Subject) {
    subject.send_spaced(1, received);
    subject.await_step(2);
}

fn simulate_suicide(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let (sender, receiver) = std::sync::mpsc::channel::<native_signal::Sensor>();
    let sensor = native_signal::install(
        native_signal::Config::default(),
        Box::new(move |_| {
            page.observer.note();
            drop(receiver.recv());
        }),
    )
    .unwrap();
    sender.send(sensor).unwrap();
    page.reach(1);
    page.wait_allowed(2);
}

fn judge_suicide(subject: &mut Subject) {
    subject.send_spaced(1, |page| page.observer.count().min(page.catcher.count()));
    subject.send_spaced(20, received);
    subject.settles_at("the catcher", 21, received);
}
