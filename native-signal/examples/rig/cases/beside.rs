//! Beside a Signal Catcher: nothing is lost, nothing comes twice, the sender is known, the app does not notice.

use super::Row;
use super::art::{
    answer_counters, block_as_art, blocks, install, own_id, scribe, set_blocked, start_catcher, write_down,
};
use super::driver::Subject;
use super::page::{Page, nap, wait_until};
use native_signal::{Config, InstallError, Mode, OsError, PassiveReason};
use std::sync::atomic::Ordering;
use std::thread;

pub(super) const CASES: &[Row] = &[
    ("beside_catcher_spaced", simulate_beside, judge_spaced),
    ("beside_catcher_storm", simulate_beside, judge_storm),
    ("withheld_is_reported_as_lost", simulate_withheld, judge_withheld),
    ("forwarded_before_the_observer_is_called", simulate_forward_first, judge_forward_first),
    ("notes_wait_for_the_thread", simulate_quietly, judge_quietly),
    ("read_is_restarted", simulate_read, judge_read),
    ("catcher_replaced", simulate_replaced, judge_replaced),
    (
        "catcher_ends_with_a_signal_untaken",
        simulate_ends_with_a_pending_signal,
        judge_ends_with_a_pending_signal,
    ),
    ("no_file_descriptor_left", simulate_no_descriptor, |_| {}),
    ("catcher_that_is_none", simulate_false_catcher, judge_false_catcher),
    ("catcher_prefers_the_one_that_waits", simulate_two_catchers, judge_two_catchers),
    ("more_than_there_are_slots", simulate_slots, judge_slots),
    ("observer_panics", simulate_panic, judge_panic),
    ("our_threads_block_sigquit", simulate_threads, |_| {}),
];

fn received(page: &Page) -> u64 {
    page.catcher.count()
}

fn last_received(page: &Page) -> u64 {
    page.catcher.last()
}

fn simulate_beside(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::BesideCatcher { tid: page.catcher_tid.load(Ordering::SeqCst) as i32 });
    assert!(!blocks(libc::SIGQUIT));
    page.reach(1);
    page.wait_allowed(2);
    answer_counters(page, &sensor);
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_spaced(subject: &mut Subject) {
    subject.send_sensed(300, received);
    let balance = subject.balance(received, last_received);
    assert!(!balance.lost && balance.received == balance.sent, "{balance:?}");
    subject.settles_at("the observer", 300, |page| page.observer.count());
    subject.allow(2);
    subject.await_step(2);
    // Sensed, forwarded, failed, merged, rescued.
    assert_eq!([8, 9, 10, 11, 12].map(|index| subject.page.answered(index)), [300, 300, 0, 0, 0]);
    for report in &subject.page.reports[..300] {
        assert_eq!(report.si_code.load(Ordering::SeqCst), 0, "SI_USER");
        assert_eq!(report.si_pid.load(Ordering::SeqCst), i64::from(std::process::id()));
        // SAFETY: no arguments.
        assert_eq!(report.si_uid.load(Ordering::SeqCst), i64::from(unsafe { libc::getuid() }));
        assert_eq!(report.kind.load(Ordering::SeqCst), 0, "in the handler");
        assert_eq!(report.detail.load(Ordering::SeqCst), subject.page.catcher_tid.load(Ordering::SeqCst));
    }
}

fn judge_storm(subject: &mut Subject) {
    subject.send_storm(5000);
    let balance = subject.balance(received, last_received);
    assert!(!balance.lost, "{balance:?}");
    assert!((1..=balance.sent).contains(&balance.received), "{balance:?}");
    subject.allow(2);
    subject.await_step(2);
    let [sensed, forwarded, failed, merged, rescued] =
        [8, 9, 10, 11, 12].map(|index| subject.page.answered(index));
    assert_eq!((forwarded, failed), (sensed, 0));
    subject.settles_at("the observer", (sensed - merged) as u64, |page| page.observer.count());
    println!(
        "  {} sent, {sensed} sensed ({merged} without a note, {rescued} rescued), {} at the catcher",
        balance.sent, balance.received
    );
}

fn simulate_withheld(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let config = Config { withhold_for_test: true, ..Config::default() };
    let _sensor = native_signal::install(config, scribe(page)).unwrap();
    page.reach(1);
    page.wait_allowed(2);
}

fn judge_withheld(subject: &mut Subject) {
    subject.send_taken(5, |page| page.observer.count());
    let balance = subject.balance(received, last_received);
    assert!(balance.lost && balance.received == 0, "{balance:?}");
}

fn simulate_quietly(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = native_signal::install_quietly(Config::default()).unwrap();
    assert_eq!(sensor.mode(), Mode::BesideCatcher { tid: page.catcher_tid.load(Ordering::SeqCst) as i32 });
    page.reach(1);
    page.wait_allowed(2);
    thread::scope(|scope| {
        // Joined by its handle: ThreadSanitizer does not see how a scope waits, which is in the ready-made library.
        scope.spawn(|| sensor.listen(scribe(page)).unwrap()).join().unwrap();
    });
    // It has its thread.
    sensor.listen(Box::new(|_| panic!("a second observer"))).unwrap();
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_quietly(subject: &mut Subject) {
    for round in 1..=3 {
        subject.send_taken(1, received);
        subject.leader_opens();
        assert_eq!(
            (received(subject.page), subject.page.observer.count()),
            (round, 0),
            "forwarded, not reported"
        );
    }
    subject.allow(2);
    subject.await_step(2);
    subject.settles_at("the observer", 3, |page| page.observer.count());
    subject.send_sensed(2, received);
}

fn simulate_forward_first(page: &'static Page) {
    block_as_art();
    page.catcher_busy.store(1, Ordering::SeqCst);
    start_catcher(page, "Signal Catcher", u64::MAX);
    let _sensor = native_signal::install(
        Config::default(),
        Box::new(move |sensed| {
            // The catcher dumps: what was forwarded to it is pending on it, and on no other thread.
            let tid = page.catcher_tid.load(Ordering::SeqCst);
            let status = std::fs::read_to_string(format!("/proc/self/task/{tid}/status")).unwrap();
            let pending = status.lines().find_map(|line| line.strip_prefix("SigPnd:\t")).unwrap();
            page.answer(0, i64::from_str_radix(pending, 16).unwrap() >> (libc::SIGQUIT - 1) & 1);
            write_down(page, sensed);
        }),
    )
    .unwrap();
    page.reach(1);
    page.wait_allowed(2);
}

fn judge_forward_first(subject: &mut Subject) {
    for round in 1..=20 {
        subject.page.catcher_busy.store(1, Ordering::SeqCst);
        // A catcher that was in sigwait takes one more before it is busy.
        if round > 1 {
            subject.send_sensed(1, received);
        }
        subject.page.answer(0, -1);
        subject.send_sensed(1, |page| page.observer.count());
        assert_eq!(subject.page.answered(0), 1, "round {round}");
        subject.page.catcher_busy.store(0, Ordering::SeqCst);
        wait_until("the catcher", || received(subject.page) == subject.sent);
    }
}

fn simulate_read(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let _sensor = install(page);
    let mut ends = [0; 2];
    // SAFETY: a place for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    thread::spawn(move || {
        block_as_art();
        page.wait_allowed(2);
        // SAFETY: one readable byte.
        unsafe { libc::write(ends[1], [7u8].as_ptr().cast(), 1) };
    });
    page.reach(1);
    let mut byte = 0u8;
    // SAFETY: one writable byte.
    let got = unsafe { libc::read(ends[0], (&raw mut byte).cast(), 1) };
    page.answer(0, got as i64);
    page.answer(1, byte.into());
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_read(subject: &mut Subject) {
    subject.send_spaced(50, received);
    subject.allow(2);
    subject.await_step(2);
    assert_eq!((subject.page.answered(0), subject.page.answered(1)), (1, 7), "never EINTR");
}

fn simulate_replaced(page: &'static Page) {
    block_as_art();
    let first = start_catcher(page, "Signal Catcher", 1);
    let sensor = install(page);
    page.reach(1);
    first.join().unwrap();
    page.reach(2);
    // The next signal finds none. One that comes back from a dump could take a later one before the leader does.
    wait_until("a signal without a catcher", || sensor.counters().sensed == 2);
    // Well under the second for which our thread looks for another one, on a busy machine too.
    nap(20_000);
    start_catcher(page, "Signal Catcher", u64::MAX);
    // tgkill fails in the handler while this loop reads errno all the time.
    let mut kept = true;
    while page.allowed.load(Ordering::SeqCst) < 2 {
        // SAFETY: the address of this thread's errno.
        let errno = unsafe { errno_place() };
        // SAFETY: as above, only this thread and its handlers use it.
        unsafe { errno.write_volatile(1234) };
        for _ in 0..1000 {
            // SAFETY: as above.
            kept &= unsafe { errno.read_volatile() } == 1234;
        }
    }
    page.answer(0, kept.into());
    assert_eq!(sensor.counters().failed, 0);
    answer_counters(page, &sensor);
    page.reach(3);
    page.wait_allowed(3);
}

unsafe fn errno_place() -> *mut i32 {
    #[cfg(target_os = "android")]
    // SAFETY: no arguments.
    return unsafe { libc::__errno() };
    #[cfg(not(target_os = "android"))]
    // SAFETY: no arguments.
    return unsafe { libc::__errno_location() };
}

fn judge_replaced(subject: &mut Subject) {
    subject.send_sensed(1, received);
    subject.await_step(2);
    subject.send_sensed(20, received);
    // The first took its signal and ended; if our thread saw it pending and then found no catcher, the next gets it once more.
    wait_until("the catchers", || received(subject.page) >= 21);
    nap(30_000);
    let got = received(subject.page);
    assert!((21..=22).contains(&got), "{got}");
    subject.settles_at("the observer", 21, |page| page.observer.count());
    subject.allow(2);
    subject.await_step(3);
    assert_eq!(subject.page.answered(0), 1, "errno kept");
    let [sensed, forwarded, failed] = [8, 9, 10].map(|index| subject.page.answered(index));
    assert_eq!((sensed, failed), (21, 0));
    // One that is sent once more may merge with the next.
    assert!((got as i64..=22).contains(&forwarded), "{got} got, {forwarded} forwarded");
    let kinds: Vec<i64> =
        subject.page.reports[..21].iter().map(|report| report.kind.load(Ordering::SeqCst)).collect();
    // The second is late unless the first was sent once more; the handler knows the new one from then on.
    assert!(kinds[1] == 2 || forwarded == 22, "{kinds:?}");
    assert_eq!((kinds[0], kinds[2]), (0, 0));
}

/// The kernel accepted the signal, and the catcher ends without having taken it; another one comes later.
fn simulate_ends_with_a_pending_signal(page: &'static Page) {
    block_as_art();
    for round in 1..=10 {
        page.answer(0, 0);
        let busy = thread::Builder::new()
            .name("Signal Catcher".to_owned())
            .spawn(move || {
                page.answer(0, own_id());
                page.wait_allowed(3 * round);
            })
            .unwrap();
        wait_until("a busy catcher", || page.answered(0) != 0);
        let sensor = install(page);
        page.reach(3 * round - 1);
        busy.join().unwrap();
        // Sometimes our thread searches before the catcher exists.
        nap(round % 4 * 20_000);
        let next = start_catcher(page, "Signal Catcher", 1);
        next.join().unwrap();
        drop(sensor);
        page.reach(3 * round);
    }
}

fn judge_ends_with_a_pending_signal(subject: &mut Subject) {
    for round in 1..=10 {
        subject.await_step(3 * round - 1);
        // Half of the time it ends at once, so that the pending signal was not seen.
        let sensed = subject.page.observer.count();
        subject.send();
        if round % 2 == 0 {
            wait_until("the observer", || subject.page.observer.count() > sensed);
        }
        subject.allow(3 * round);
        wait_until("the next catcher", || received(subject.page) >= round);
        subject.await_step(3 * round);
    }
    assert_eq!(received(subject.page), 10);
}

fn simulate_no_descriptor(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let mut held = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        held.push(file);
    }
    // From none at all to enough: never half installed, never taken for "there is no catcher".
    for free in 0..8 {
        let install = native_signal::install(Config::default(), Box::new(|_| {}));
        match install {
            Err(InstallError::Os(OsError { errno, .. })) => {
                assert_eq!(errno, libc::EMFILE, "{free} free");
                assert!(blocks(libc::SIGQUIT));
            }
            Ok(sensor) => {
                assert!(matches!(sensor.mode(), Mode::BesideCatcher { .. }));
                assert_eq!(sensor.counters().failed, 0, "{free} free");
            }
            other => panic!("{other:?}"),
        }
        held.pop();
    }
    page.reach(1);
}

fn simulate_false_catcher(page: &'static Page) {
    block_as_art();
    // It bears the name and has SIGQUIT open, as if waiting; but it does not wait.
    thread::Builder::new()
        .name("Signal Catcher".to_owned())
        .spawn(move || {
            set_blocked(&[libc::SIGUSR1, libc::SIGPIPE]);
            page.answer(0, own_id());
            page.wait_allowed(u64::MAX);
        })
        .unwrap();
    wait_until("the false catcher", || page.answered(0) != 0);
    let tid = page.answered(0);
    // Installed before the true one is there, so that the false one is taken for it.
    let sensor = install(page);
    assert_eq!(sensor.mode(), Mode::BesideCatcher { tid: tid as i32 });
    start_catcher(page, "Signal Catcher", u64::MAX);
    page.reach(1);
    page.wait_allowed(2);
}

fn judge_false_catcher(subject: &mut Subject) {
    subject.send_sensed(10, received);
    // The first came back to our handler on the false one, which is sensed as one more of our own process.
    subject.settles_at("the catcher", 10, received);
    let page = subject.page;
    assert!(page.observer.count() >= 10 && page.observer.count() <= 12, "{}", page.observer.count());
}

fn simulate_two_catchers(page: &'static Page) {
    block_as_art();
    // A thread of that name in another state: SIGQUIT blocked and never waited for.
    thread::Builder::new()
        .name("Signal Catcher".to_owned())
        .spawn(move || {
            page.answer(0, own_id());
            page.wait_allowed(u64::MAX);
        })
        .unwrap();
    wait_until("the other thread", || page.answered(0) != 0);
    start_catcher(page, "Signal Catcher", u64::MAX);
    // It stores its tid just before it waits.
    nap(100_000);
    let _sensor = install(page);
    page.reach(1);
    page.wait_allowed(2);
}

fn judge_two_catchers(subject: &mut Subject) {
    subject.send_spaced(20, received);
    subject.settles_at("the catcher", 20, received);
}

fn simulate_slots(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = native_signal::install(
        Config::default(),
        Box::new(move |sensed| {
            page.wait_allowed(2);
            write_down(page, sensed);
        }),
    )
    .unwrap();
    page.reach(1);
    page.wait_allowed(2);
    wait_until("the observer", || {
        let counters = sensor.counters();
        page.observer.count() == counters.sensed - counters.merged
    });
    answer_counters(page, &sensor);
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_slots(subject: &mut Subject) {
    subject.send_taken(200, received);
    subject.allow(2);
    subject.await_step(2);
    let [sensed, forwarded, failed, merged] = [8, 9, 10, 11].map(|index| subject.page.answered(index));
    assert_eq!((sensed, forwarded, failed), (200, 200, 0));
    // 32 in slots and at most as many drained before the first report; the rest is counted.
    assert!((136..=168).contains(&merged), "{merged}");
}

fn simulate_panic(page: &'static Page) {
    block_as_art();
    std::panic::set_hook(Box::new(|_| {}));
    start_catcher(page, "Signal Catcher", u64::MAX);
    let sensor = native_signal::install(
        Config::default(),
        Box::new(move |sensed| {
            write_down(page, sensed);
            panic!("an observer that fails");
        }),
    )
    .unwrap();
    page.reach(1);
    page.wait_allowed(2);
    assert_eq!(sensor.mode(), Mode::Passive { reason: PassiveReason::Disarmed });
    page.reach(2);
    page.wait_allowed(3);
}

fn judge_panic(subject: &mut Subject) {
    subject.send_spaced(1, |page| page.observer.count().min(page.catcher.count()));
    subject.send_spaced(20, received);
    subject.settles_at("the catcher", 21, received);
    // The panic is caught a moment after the note; signals until then may have been noted and not reported.
    assert_eq!(subject.page.observer.count(), 1);
    subject.allow(2);
    subject.await_step(2);
}

fn simulate_threads(page: &'static Page) {
    // With everything open here, what the threads block is their own doing.
    set_blocked(&[]);
    start_catcher(page, "Signal Catcher", u64::MAX);
    let _sensor = install(page);
    let timer = native_signal::StallTimer::new();
    timer.run(native_signal::boottime_ns, Box::new(|_| 1_000_000_000)).unwrap();
    // Each names itself as its first act, which may be still to come.
    let find = |wanted: &str| tasks().into_iter().find(|task| name(task) == wanted);
    for wanted in ["anrscope-signal", "anrscope-timer"] {
        wait_until(wanted, || find(wanted).is_some());
        let status = std::fs::read_to_string(find(wanted).unwrap().path().join("status")).unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigBlk:\t")).unwrap();
        let mask = u64::from_str_radix(mask, 16).unwrap();
        assert_ne!(mask & 1 << (libc::SIGQUIT - 1), 0, "SIGQUIT blocked");
        assert_eq!(mask & 1 << (libc::SIGSEGV - 1), 0, "faults open");
    }
    page.reach(1);
}

fn tasks() -> Vec<std::fs::DirEntry> {
    std::fs::read_dir("/proc/self/task").unwrap().flatten().collect()
}

fn name(task: &std::fs::DirEntry) -> String {
    std::fs::read_to_string(task.path().join("comm")).unwrap_or_default().trim().to_owned()
}
