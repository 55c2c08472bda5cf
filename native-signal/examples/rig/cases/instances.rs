//! Two copies of the library in one process, as two class loaders make them.

use super::Row;
use super::art::{block_as_art, install, start_catcher};
use super::driver::Subject;
use super::page::Page;
use super::second::Second;
use native_signal::{Mode, Uninstalled};
use std::thread;

pub(super) const CASES: &[Row] = &[
    ("second_instance_comes_and_goes_last", simulate_second_on_top, judge_second),
    ("second_instance_was_there_first", simulate_second_below, judge_second),
    ("the_lower_of_two_instances_goes_first", simulate_lower_goes, judge_lower_goes),
];

fn received(page: &Page) -> u64 {
    page.catcher.count()
}

fn begin(page: &'static Page) -> Second {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    Second::load()
}

/// Answer 0: the second's result while both were installed. Answer 1: at the end.
fn simulate_second_on_top(page: &'static Page) {
    let second = begin(page);
    let sensor = install(page);
    assert!(matches!(sensor.mode(), Mode::BesideCatcher { .. }));
    assert_eq!(second.install(), 2, "before ours");
    assert!(sensor.displaced());
    page.reach(1);
    page.wait_allowed(2);
    page.answer(0, second.sensed() as i64);
    assert_eq!(second.uninstall(), 0, "ours is back");
    assert!(!sensor.displaced());
    page.reach(2);
    page.wait_allowed(3);
    page.answer(1, second.sensed() as i64);
    page.reach(3);
    page.wait_allowed(4);
}

fn simulate_second_below(page: &'static Page) {
    let second = begin(page);
    assert_eq!(second.install(), 1);
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::BeforePreviousHandler);
    page.reach(1);
    page.wait_allowed(2);
    page.answer(0, second.sensed() as i64);
    // The upper one goes and comes again.
    assert_eq!(sensor.uninstall(), Uninstalled::Restored);
    let _sensor = install(page);
    page.answer(1, 0);
    second.uninstall();
    page.reach(2);
    page.wait_allowed(3);
    page.answer(1, second.sensed() as i64);
    page.reach(3);
    page.wait_allowed(4);
}

fn judge_second(subject: &mut Subject) {
    subject.send_sensed(50, received);
    subject.settles_at("the catcher, each signal once", 50, received);
    subject.allow(2);
    subject.await_step(2);
    assert_eq!(subject.page.answered(0), 50, "each was reported to both");
    subject.send_spaced(50, received);
    subject.settles_at("the catcher, each signal once", 100, received);
    subject.allow(3);
    subject.await_step(3);
    assert_eq!(subject.page.answered(1), 50);
}

fn simulate_lower_goes(page: &'static Page) {
    let second = begin(page);
    let sensor = install(page);
    assert_eq!(second.install(), 2);
    // Elsewhere, so that the leader stays open.
    let left = thread::spawn(move || sensor.uninstall()).join().unwrap();
    assert_eq!(left, Uninstalled::PassThrough { leader_open: true });
    page.reach(1);
    page.wait_allowed(2);
    page.answer(0, second.sensed() as i64);
    // It is installed again, in its old place below the other one: no cycle.
    let _sensor = install(page);
    page.reach(2);
    page.wait_allowed(3);
    page.answer(1, second.sensed() as i64);
    assert_eq!(second.uninstall(), 0);
    page.reach(3);
    page.wait_allowed(4);
}

fn judge_lower_goes(subject: &mut Subject) {
    subject.send_taken(50, received);
    subject.settles_at("the catcher, each signal once", 50, received);
    assert_eq!(subject.page.observer.count(), 0);
    subject.allow(2);
    subject.await_step(2);
    subject.send_sensed(50, received);
    subject.settles_at("the catcher, each signal once", 100, received);
    subject.allow(3);
    subject.await_step(3);
    subject.send_sensed(50, received);
    subject.settles_at("the catcher, each signal once", 150, received);
    assert_eq!(subject.page.observer.count(), 100);
}
