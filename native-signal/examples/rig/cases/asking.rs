//! A dump on demand: our own SIGQUIT, known as ours, answered as any other.

use super::Row;
use super::art::{block_as_art, install, page_of_handlers, set_blocked, set_handler, start_catcher};
use super::driver::Subject;
use super::page::Page;
use native_signal::{AskError, Mode, ask_for_dump};
use std::sync::atomic::Ordering;
use std::thread;

pub(super) const CASES: &[Row] = &[
    ("asked_beside_the_catcher", simulate_beside, judge_beside),
    ("asked_before_a_previous_handler", simulate_previous, judge_previous),
    ("asked_without_a_sensor", simulate_alone, judge_alone),
    ("asked_where_no_thread_answers", simulate_without_receiver, |_| {}),
];

fn simulate_beside(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let _sensor = install(page);
    page.answer(0, std::process::id().into());
    page.reach(1);
    page.wait_allowed(2);
    ask_for_dump().unwrap();
    page.reach(2);
    page.wait_allowed(3);
    // From another thread too.
    thread::spawn(|| ask_for_dump().unwrap()).join().unwrap();
    page.reach(3);
    page.wait_allowed(4);
}

fn judge_beside(subject: &mut Subject) {
    for round in 1..=2 {
        subject.allow(round + 1);
        subject.await_step(round + 1);
        subject.settles_at("the catcher", round, |page| page.catcher.count());
        subject.settles_at("the observer", round, |page| page.observer.count());
        let report = &subject.page.reports[round as usize - 1];
        assert_eq!(report.si_pid.load(Ordering::SeqCst), subject.page.answered(0), "known as its own");
        assert_eq!(report.kind.load(Ordering::SeqCst), 0);
    }
}

extern "C" fn previous(_signal: i32) {
    page_of_handlers().previous.note();
}

fn simulate_previous(page: &'static Page) {
    set_handler(page, previous as *const () as usize, libc::SA_RESTART, &[]);
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::BeforePreviousHandler);
    page.reach(1);
    page.wait_allowed(2);
    ask_for_dump().unwrap();
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_previous(subject: &mut Subject) {
    subject.allow(2);
    subject.await_step(2);
    subject.settles_at("the previous handler", 1, |page| page.previous.count());
    subject.settles_at("the observer", 1, |page| page.observer.count());
}

fn simulate_alone(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    page.reach(1);
    ask_for_dump().unwrap();
    page.wait_allowed(2);
}

fn judge_alone(subject: &mut Subject) {
    subject.settles_at("the catcher", 1, |page| page.catcher.count());
}

fn simulate_without_receiver(page: &'static Page) {
    // It would end the process.
    assert_eq!(ask_for_dump(), Err(AskError::NoReceiver));
    set_blocked(&[libc::SIGQUIT]);
    assert_eq!(ask_for_dump(), Err(AskError::NoReceiver));
    set_handler(page, libc::SIG_IGN, 0, &[]);
    assert_eq!(ask_for_dump(), Err(AskError::NoReceiver));
    // It would use up a handler that is to run once.
    set_handler(page, previous as *const () as usize, libc::SA_RESETHAND, &[]);
    assert_eq!(ask_for_dump(), Err(AskError::NoReceiver));
    page.reach(1);
}
