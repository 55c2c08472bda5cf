//! Where the sensor stays out, or waits for the leader.

use super::Row;
use super::art::{
    block_as_art, blocks, current_handler, install, page_of_handlers, set_blocked, set_handler, start_catcher,
};
use super::driver::Subject;
use super::page::{Page, nap, wait_until};
use native_signal::{
    Config, Counters, InstallError, Mode, OpenError, PassiveReason, PassiveWatch, Uninstalled,
    close_in_this_thread, install as install_raw, open_in_this_thread,
};
use std::sync::atomic::Ordering;
use std::thread;

pub(super) const CASES: &[Row] = &[
    ("default_and_no_catcher", simulate_default, judge_default),
    ("ignored_and_no_catcher", simulate_ignored, judge_nothing_happens),
    ("one_shot_previous_handler", simulate_one_shot, |_| {}),
    ("previous_handler_behind_a_closed_leader", simulate_unreached, judge_unreached),
    ("installed_off_the_leader", simulate_off_leader, judge_off_leader),
    ("only_one_sensor", simulate_twice, |_| {}),
    ("seen_by_the_catchers_sleeps", simulate_watch, judge_watch),
];

fn stays_out(page: &'static Page, reason: PassiveReason) {
    let (handler, blocked) = (current_handler(), blocks(libc::SIGQUIT));
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::Passive { reason });
    assert_eq!(open_in_this_thread(), Err(OpenError::NotBesideCatcher));
    assert_eq!((current_handler(), blocks(libc::SIGQUIT)), (handler, blocked), "untouched");
    assert_eq!(sensor.counters(), Counters::default());
    assert_eq!(sensor.uninstall(), Uninstalled::NothingInstalled);
}

fn simulate_default(page: &'static Page) {
    block_as_art();
    stays_out(page, PassiveReason::DefaultAction);
    page.reach(1);
    page.wait_allowed(2);
}

fn judge_default(subject: &mut Subject) {
    // Blocked in all threads, and no thread waits for it: it stays pending and kills no process.
    subject.send();
    nap(50_000);
    subject.allow(2);
}

fn simulate_ignored(page: &'static Page) {
    set_handler(page, libc::SIG_IGN, 0, &[]);
    stays_out(page, PassiveReason::Ignored);
    page.reach(1);
    page.wait_allowed(2);
}

fn judge_nothing_happens(subject: &mut Subject) {
    subject.send();
    nap(50_000);
    assert_eq!(subject.page.observer.count(), 0);
}

extern "C" fn previous(_signal: i32) {
    page_of_handlers().previous.note();
}

fn simulate_one_shot(page: &'static Page) {
    set_handler(page, previous as *const () as usize, libc::SA_RESETHAND, &[]);
    stays_out(page, PassiveReason::PreviousHandlerOneShot);
    page.reach(1);
}

fn simulate_unreached(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    set_handler(page, previous as *const () as usize, libc::SA_RESTART, &[]);
    stays_out(page, PassiveReason::PreviousHandlerNotReached);
    page.reach(1);
    page.wait_allowed(2);
}

fn judge_unreached(subject: &mut Subject) {
    subject.send_spaced(10, |page| page.catcher.count());
    assert_eq!((subject.page.previous.count(), subject.page.observer.count()), (0, 0));
}

fn simulate_off_leader(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = thread::spawn(move || {
        let sensor = install(page);
        assert_eq!(open_in_this_thread(), Err(OpenError::NotTheLeader));
        sensor
    })
    .join()
    .unwrap();
    assert_eq!(sensor.mode(), Mode::Passive { reason: PassiveReason::LeaderClosed });
    assert!(blocks(libc::SIGQUIT));
    page.reach(1);
    page.wait_allowed(2);
    open_in_this_thread().unwrap();
    open_in_this_thread().unwrap();
    assert!(matches!(sensor.mode(), Mode::BesideCatcher { .. }));
    page.reach(2);
    page.wait_allowed(3);
    assert!(close_in_this_thread());
    assert!(!close_in_this_thread());
    assert_eq!(sensor.mode(), Mode::Passive { reason: PassiveReason::LeaderClosed });
    page.reach(3);
    page.wait_allowed(4);
}

fn judge_off_leader(subject: &mut Subject) {
    let received = |page: &Page| page.catcher.count();
    subject.send_spaced(10, received);
    assert_eq!(subject.page.observer.count(), 0, "closed: straight to the catcher");
    subject.allow(2);
    subject.await_step(2);
    subject.send_sensed(10, received);
    subject.settles_at("the observer", 10, |page| page.observer.count());
    subject.allow(3);
    subject.await_step(3);
    // Busy for longer than a rescue waits: its signal stays where it is, as without us.
    subject.send_spaced(1, received);
    subject.page.catcher_busy.store(1, Ordering::SeqCst);
    subject.send_spaced(1, received);
    subject.send();
    nap(700_000);
    assert_eq!(received(subject.page), 22);
    subject.page.catcher_busy.store(0, Ordering::SeqCst);
    subject.settles_at("the catcher", 23, received);
    assert_eq!(subject.page.observer.count(), 10);
}

fn simulate_twice(page: &'static Page) {
    set_blocked(&[libc::SIGQUIT]);
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    let again = || install_raw(Config::default(), Box::new(|_| {}));
    assert!(matches!(again(), Err(InstallError::AlreadyInstalled)));
    drop(sensor);
    assert!(blocks(libc::SIGQUIT), "closed again on the leader");
    assert_ne!(current_handler(), libc::SIG_DFL);
    let sensor = again().unwrap();
    assert!(matches!(sensor.mode(), Mode::BesideCatcher { .. }));
    wait_until("the mask", || !blocks(libc::SIGQUIT));
    page.reach(1);
}

fn simulate_watch(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = thread::spawn(move || install(page)).join().unwrap();
    assert_eq!(sensor.mode(), Mode::Passive { reason: PassiveReason::LeaderClosed });
    let mut watch = sensor.passive_watch().unwrap();
    // Its own time: a second from check to check.
    let mut now_ns = 0;
    let mut check = || {
        now_ns += 1_000_000_000;
        watch.tick(now_ns)
    };
    // The catcher may be on its way to its first sleep. After that no check finds anything.
    let mut still = 0;
    wait_until("a catcher that sleeps", || {
        nap(5000);
        still = if check() { 0 } else { still + 1 };
        still == 20
    });
    page.reach(1);
    page.wait_allowed(2);
    wait_until("a check of the catcher", check);
    // Signals between two stalls are not reported.
    let mut rested = PassiveWatch::default();
    assert!(!rested.tick(1));
    rested.rest();
    page.reach(2);
    page.wait_allowed(3);
    assert!(!rested.tick(1));
    open_in_this_thread().unwrap();
    assert!(sensor.passive_watch().is_none());
    page.reach(3);
    page.wait_allowed(4);
}

fn judge_watch(subject: &mut Subject) {
    let received = |page: &Page| page.catcher.count();
    subject.send_spaced(1, received);
    subject.allow(2);
    subject.await_step(2);
    subject.send_spaced(3, received);
    subject.allow(3);
    subject.await_step(3);
    assert_eq!(subject.page.observer.count(), 0);
}
