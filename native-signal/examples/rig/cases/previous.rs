//! Before a previous handler: it gets every signal, in the form that it asked for, and never in a cycle.

use super::Row;
use super::art::{
    answer_counters, block_as_art, blocks, current_handler, install, page_of_handlers, set_blocked,
    set_handler, start_catcher,
};
use super::driver::Subject;
use super::page::Page;
use native_signal::{Mode, Uninstalled};
use std::sync::atomic::{AtomicUsize, Ordering};

pub(super) const CASES: &[Row] = &[
    ("previous_handler_spaced", simulate_previous, judge_spaced),
    ("previous_handler_storm", simulate_previous, judge_storm),
    ("previous_handler_without_siginfo", simulate_plain, judge_spaced),
    ("previous_handler_that_raises_again", simulate_raise, judge_raise),
    ("previous_handler_on_top_of_us_again", simulate_cycle, judge_cycle),
    ("previous_handler_comes_back", simulate_back, judge_back),
];

fn received(page: &Page) -> u64 {
    page.previous.count()
}

extern "C" fn with_info(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let page = page_of_handlers();
    // SAFETY: the kernel's siginfo of this signal, handed through.
    let pid = unsafe { (*info).si_pid() };
    page.answer(0, pid.into());
    page.answer(1, i64::from(signal == libc::SIGQUIT && !context.is_null()));
    // The mask that it asked for, and the signal itself; nothing else.
    let mask = [libc::SIGHUP, libc::SIGQUIT, libc::SIGTERM, libc::SIGUSR2].map(blocks);
    page.answer(2, i64::from(mask == [true, true, false, false]));
    page.previous.note();
}

extern "C" fn plain(_signal: i32) {
    let page = page_of_handlers();
    page.answer(0, i64::from(std::process::id()));
    page.answer(1, 1);
    page.answer(2, 1);
    page.previous.note();
}

fn run(page: &'static Page) {
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::BeforePreviousHandler);
    page.reach(1);
    page.wait_allowed(2);
    answer_counters(page, &sensor);
    page.reach(2);
    page.wait_allowed(3);
}

fn simulate_previous(page: &'static Page) {
    let flags = libc::SA_SIGINFO | libc::SA_RESTART;
    set_handler(page, with_info as *const () as usize, flags, &[libc::SIGHUP]);
    run(page);
}

fn simulate_plain(page: &'static Page) {
    set_handler(page, plain as *const () as usize, libc::SA_RESTART, &[]);
    // The leader is open: any thread may install.
    std::thread::spawn(move || {
        set_blocked(&[libc::SIGQUIT]);
        run(page);
    });
    page.wait_allowed(3);
}

fn judge_spaced(subject: &mut Subject) {
    subject.send_sensed(200, received);
    subject.settles_at("the observer", 200, |page| page.observer.count());
    subject.allow(2);
    subject.await_step(2);
    let page = subject.page;
    let from = page.answered(0);
    assert!(from == i64::from(std::process::id()) || from == i64::from(subject.pid()), "{from}");
    assert_eq!((page.answered(1), page.answered(2)), (1, 1), "arguments and mask");
    assert_eq!([8, 9, 10, 11].map(|index| page.answered(index)), [200, 200, 0, 0]);
    assert!(page.reports[..200].iter().all(|report| report.kind.load(Ordering::SeqCst) == 1));
    assert!(
        page.reports[..200]
            .iter()
            .all(|report| report.si_pid.load(Ordering::SeqCst) == i64::from(std::process::id()))
    );
}

fn judge_storm(subject: &mut Subject) {
    subject.send_storm(5000);
    let balance = subject.balance(received, |page| page.previous.last());
    assert!(!balance.lost, "{balance:?}");
    subject.allow(2);
    subject.await_step(2);
    let [sensed, forwarded, failed, merged] = [8, 9, 10, 11].map(|index| subject.page.answered(index));
    // The previous handler counts by itself, and it is called for each that we took.
    assert_eq!((sensed, forwarded, failed), (received(subject.page) as i64, sensed, 0));
    println!("  {} sent, {sensed} taken, {merged} without a note", balance.sent);
}

extern "C" fn raising(_signal: i32) {
    let page = page_of_handlers();
    page.previous.note();
    if page.previous.count() % 2 == 1 {
        // SAFETY: an integer.
        unsafe { libc::raise(libc::SIGQUIT) };
    }
}

fn simulate_raise(page: &'static Page) {
    set_handler(page, raising as *const () as usize, libc::SA_RESTART, &[]);
    run(page);
}

fn judge_raise(subject: &mut Subject) {
    for round in 1..=20 {
        subject.send();
        subject.settles_at("the previous handler, and its own", round * 2, received);
    }
    subject.settles_at("the observer", 40, |page| page.observer.count());
}

static NEXT: AtomicUsize = AtomicUsize::new(0);

/// A handler that calls the previous handler, if there is one.
extern "C" fn chaining(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    page_of_handlers().previous.note();
    let next = NEXT.load(Ordering::SeqCst);
    if next > 1 {
        // SAFETY: a handler with SA_SIGINFO, as `simulate_cycle` made sure.
        let next: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
            unsafe { std::mem::transmute(next) };
        next(signal, info, context);
    }
}

fn simulate_cycle(page: &'static Page) {
    let flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
    let us = chaining as *const () as usize;
    start_catcher(page, "Signal Catcher", u64::MAX);
    NEXT.store(set_handler(page, us, flags, &[]).sa_sigaction, Ordering::SeqCst);
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::BeforePreviousHandler);
    // It notices that it was displaced, and puts itself on top again, with ours as the one before.
    NEXT.store(set_handler(page, us, flags, &[]).sa_sigaction, Ordering::SeqCst);
    assert!(sensor.displaced());
    page.reach(1);
    page.wait_allowed(2);
    answer_counters(page, &sensor);
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_cycle(subject: &mut Subject) {
    // It, then ours, then it once more as our previous one; then the cycle ends, at the catcher.
    for round in 1..=20 {
        subject.send_taken(1, |page| page.catcher.count());
        subject.settles_at("the chaining handler", round * 2, received);
        subject.settles_at("the catcher", round, |page| page.catcher.count());
    }
    subject.allow(2);
    subject.await_step(2);
    assert_eq!([8, 9, 10].map(|index| subject.page.answered(index)), [20, 20, 0]);
}

fn simulate_back(page: &'static Page) {
    let flags = libc::SA_SIGINFO | libc::SA_RESTART;
    let theirs = with_info as *const () as usize;
    set_handler(page, theirs, flags, &[libc::SIGHUP]);
    let sensor = install(page);
    assert_ne!(current_handler(), theirs);
    page.reach(1);
    page.wait_allowed(2);
    assert_eq!(sensor.uninstall(), Uninstalled::Restored);
    assert_eq!(current_handler(), theirs);
    page.reach(2);
    page.wait_allowed(3);
    // And once more from the beginning.
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::BeforePreviousHandler);
    page.reach(3);
    page.wait_allowed(4);
    block_as_art();
}

fn judge_back(subject: &mut Subject) {
    subject.send_sensed(10, received);
    subject.settles_at("the observer", 10, |page| page.observer.count());
    subject.allow(2);
    subject.await_step(2);
    subject.send_spaced(10, received);
    assert_eq!(subject.page.observer.count(), 10);
    subject.allow(3);
    subject.await_step(3);
    subject.send_sensed(10, received);
    subject.settles_at("the observer", 20, |page| page.observer.count());
}
