//! How long a SIGQUIT takes from the sender to the Signal Catcher: without us, with us in between, and with a handler
//! in between that does nothing but `tgkill`, which is the least that any sensor of SIGQUIT can do.

use super::Case;
use super::art::{block_as_art, page_of_handlers, set_blocked, set_handler, start_catcher};
use super::driver::Subject;
use super::page::{Page, nap, wait_until};
use native_signal::{Config, boottime_ns};
use std::sync::atomic::Ordering;

/// The simulated apps; not cases of their own.
pub(crate) const SIMULATED_APPS: [Case; 5] = [
    Case { name: "latency_without_us", simulate: simulate_without, judge: |_| {} },
    Case {
        name: "latency_least_leader_sleeps",
        simulate: |page| simulate_least(page, sleeping),
        judge: |_| {},
    },
    Case {
        name: "latency_with_us_leader_sleeps",
        simulate: |page| simulate_with(page, sleeping),
        judge: |_| {},
    },
    Case { name: "latency_least_leader_runs", simulate: |page| simulate_least(page, running), judge: |_| {} },
    Case {
        name: "latency_with_us_leader_runs",
        simulate: |page| simulate_with(page, running),
        judge: |_| {},
    },
];

/// A main thread that waits for its next message, or is stalled in a call.
fn sleeping(page: &Page) {
    while page.allowed.load(Ordering::SeqCst) < 2 {
        nap(1_000_000);
    }
}

/// A main thread that is busy.
fn running(page: &Page) {
    while page.allowed.load(Ordering::Relaxed) < 2 {
        std::hint::spin_loop();
    }
}

fn simulate_without(page: &'static Page) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    page.reach(1);
    sleeping(page);
}

fn simulate_with(page: &'static Page, leader: fn(&Page)) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    let observer = Box::new(|sensed: native_signal::Sensed| page.observer.note_at(sensed.time_ns));
    let _sensor = native_signal::install(Config::default(), observer).unwrap();
    page.reach(1);
    leader(page);
}

extern "C" fn least(_signal: i32) {
    let tid = page_of_handlers().catcher_tid.load(Ordering::Relaxed);
    // SAFETY: integers.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid as i32, libc::SIGQUIT) };
}

fn simulate_least(page: &'static Page, leader: fn(&Page)) {
    block_as_art();
    start_catcher(page, "Signal Catcher", u64::MAX);
    set_handler(page, least as *const () as usize, libc::SA_RESTART, &[]);
    set_blocked(&[libc::SIGUSR1, libc::SIGPIPE]);
    page.reach(1);
    leader(page);
}

/// Whether this simulated app has a sensor, which records when its handler began.
fn has_sensor(index: usize) -> bool {
    SIMULATED_APPS[index].name.contains("with_us")
}

/// What one simulated app showed, in µs.
struct Row {
    median: f64,
    most: f64,
    all_came: bool,
}

/// Sends so many to each, in turns, each after the one before arrived, and prints the figures. Each is waited for: one
/// that is lost ends the program.
pub(crate) fn run(number: usize) {
    println!("SIGQUIT to the Signal Catcher, µs, {number} each, one at a time, in turns:");
    let mut taken = SIMULATED_APPS.map(|_| Vec::with_capacity(number));
    let mut handled = SIMULATED_APPS.map(|_| Vec::new());
    let mut rows: Vec<Row> = Vec::new();
    // A leader that runs takes a CPU for itself: such cases run alone.
    for apps in [0..3, 3..4, 4..5] {
        let mut subject: Vec<_> = apps.map(|index| (index, Subject::start(&SIMULATED_APPS[index]))).collect();
        let turn = (number / 10).max(1);
        while subject.iter().any(|(index, _)| taken[*index].len() < number) {
            for (index, subject) in &mut subject {
                for _ in 0..turn.min(number - taken[*index].len()) {
                    // What comes while the handler runs would go past it. The same for all, for the pace decides how
                    // deep an idle CPU sleeps.
                    if *index > 0 {
                        subject.leader_opens();
                    } else {
                        wait_until("the catcher", || subject.catcher_waits() && subject.catcher_waits());
                    }
                    let sent_ns = boottime_ns();
                    subject.send_spaced(1, |page| page.catcher.last());
                    taken[*index].push(subject.page.catcher.last() - sent_ns);
                    if has_sensor(*index) {
                        wait_until("the observer", || subject.page.observer.last() > sent_ns);
                        handled[*index].push(subject.page.observer.last() - sent_ns);
                    }
                }
            }
        }
        for (index, subject) in subject {
            let name = SIMULATED_APPS[index].name.trim_start_matches("latency_").replace('_', " ");
            if has_sensor(index) {
                rows.push(row(&subject, &format!("{name}, handler"), &mut handled[index]));
            }
            rows.push(row(&subject, &name, &mut taken[index]));
            subject.end();
        }
    }
    let [without, _, handler, ..] = &rows[..] else { unreachable!("five simulated apps") };
    println!(
        "  The handler reads the clock, then forwards: its row is SIGQUIT to forwarded, but for one system call."
    );
    println!(
        "  Target, leader sleeping: forwarded in a median under 50 µs, 99.9 % under 1 ms or twice the run without"
    );
    println!("  us, none lost:");
    let met = handler.median < 50.0
        && (handler.most < 1000.0 || handler.most < 2.0 * without.most)
        && rows.iter().all(|row| row.all_came);
    println!("  {}", if met { "met" } else { "NOT met in this run" });
}

fn row(subject: &Subject, name: &str, taken: &mut [u64]) -> Row {
    taken.sort_unstable();
    let at = |share: f64| taken[((taken.len() - 1) as f64 * share) as usize] as f64 / 1000.0;
    let (sent, got, observed) = (subject.sent, subject.page.catcher.count(), subject.page.observer.count());
    println!(
        "  {:34} median {:7.1}  90 % {:7.1}  99.9 % {:8.1}  max {:8.1}   {sent} sent, {got} at the catcher, {observed} sensed",
        name,
        at(0.5),
        at(0.9),
        at(0.999),
        at(1.0),
    );
    Row { median: at(0.5), most: at(0.999), all_came: sent == got }
}
