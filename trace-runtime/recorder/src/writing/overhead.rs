//! The cost of recording is measured while it runs, and limited: beyond a limit the methods that are called
//! most are switched off, and on again when the program has calmed down. The recording says which, when and
//! at what rate ([`SectionKind::Overhead`]).
//!
//! # How it is measured
//! `MethodBeat` times one call in thousands (`sampled`): what its exit takes by the clock, less what
//! reading the clock takes. An enter does the same work except for a check of the last word, so a call costs
//! twice that. The samples also count the calls, by method.
//!
//! The limit applies to the calls' time as a share of the time of the threads that made them: the time that
//! has passed, times their number, but not more than the process's CPU time.
//!
//! Not included: a method with two more calls is compiled into a little more code.
//!
//! # What is switched off
//! The methods with most samples, until the rest is well below the limit. A method whose calls are long is
//! called seldom and is never among them. Each method comes back after a while, a few at a time; one that is
//! switched off again soon stays off twice as long. The same holds for the methods that would fill main's
//! ring (`room`).

use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering::Relaxed};

use trace_format::ids;
use trace_format::section::SectionKind;
use trace_format::sections::overhead::Writer;

use crate::files::worker;
use crate::time::clock;
use crate::writing::room::Filling;
use crate::writing::switches::{self, Switch};

/// The default limit: recording may take this share of the threads' time, in hundredths of a percent.
pub const DEFAULT_MAX: u32 = 300;

/// Samples that are kept per window.
const MAX_SAMPLES: usize = 2048;
/// The shortest window, ns. A program changes fast while it starts, and costs most then, because it is not
/// compiled yet.
pub(crate) const WINDOW_NS: u64 = 30_000_000;
/// With fewer samples in a window the threads make too few calls to matter: 15,000 in 30 ms.
const MIN_SAMPLES: u64 = 10;
/// A method stays off for this long the first time, ns, and for [`LONGEST_STAY_NS`] at most.
const FIRST_STAY_NS: u64 = 5_000_000_000;
const LONGEST_STAY_NS: u64 = 320_000_000_000;
/// A method that is found again within this time after it came back was on trial, ns.
const TRIAL_NS: u64 = 2_000_000_000;
/// Methods that are remembered: those that are off, and those on trial.
const MAX_METHODS: usize = 16_384;
/// An event takes no longer than this, ns, unless its thread was preempted.
const LONGEST_EVENT_NS: i64 = 10_000;
/// The cost is recorded at least this often, ns, while there is one.
const REPORT_EVERY_NS: u64 = 10_000_000_000;

static IDS: [AtomicU32; MAX_SAMPLES] = [const { AtomicU32::new(0) }; MAX_SAMPLES];
static COUNT: AtomicU64 = AtomicU64::new(0);
static CALLS: AtomicU64 = AtomicU64::new(0);
static TOOK: AtomicI64 = AtomicI64::new(0);
static TIMED: AtomicU64 = AtomicU64::new(0);
static THREADS: AtomicU64 = AtomicU64::new(0);
static NUMBER: AtomicU32 = AtomicU32::new(1);

/// Adds a sample: a call's exit took `ns`, and the sample stands for `calls` calls. `window` is the one in
/// which the thread was counted last. On the app's threads.
pub(crate) fn sampled(id: u32, ns: i64, calls: u32, window: &mut u32) {
    let place = COUNT.fetch_add(1, Relaxed);
    IDS[place as usize % MAX_SAMPLES].store(id, Relaxed);
    CALLS.fetch_add(calls.into(), Relaxed);
    if ns < LONGEST_EVENT_NS {
        TOOK.fetch_add(ns, Relaxed);
        TIMED.fetch_add(1, Relaxed);
    }
    let number = NUMBER.load(Relaxed);
    if *window != number {
        *window = number;
        THREADS.fetch_add(1, Relaxed);
    }
}

static CONTROL: Mutex<Option<Control>> = Mutex::new(None);

/// Begins with this limit, unless the app has set one meanwhile: the worker starts while the app runs on.
pub(crate) fn begin(max: u32) {
    let mut control = CONTROL.lock().unwrap_or_else(PoisonError::into_inner);
    control.get_or_insert_with(|| Control::new(max, clock::boottime()));
}

/// Sets the limit, in hundredths of a percent; 0: from here on no method is switched off.
pub fn set_max(max: u32) {
    let mut control = CONTROL.lock().unwrap_or_else(PoisonError::into_inner);
    control.get_or_insert_with(|| Control::new(max, clock::boottime())).max = max;
}

/// Evaluates a window at its end. On the ticker's thread.
pub(crate) fn check(now: u64) {
    let mut control = CONTROL.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(control) = control.as_mut() else { return };
    let count = COUNT.swap(0, Relaxed);
    let mut ids: Vec<u32> =
        IDS[..MAX_SAMPLES.min(count as usize)].iter().map(|id| id.load(Relaxed)).collect();
    ids.sort_unstable();
    NUMBER.fetch_add(1, Relaxed);
    let window = Window {
        now,
        calls: CALLS.swap(0, Relaxed),
        took: TOOK.swap(0, Relaxed),
        timed: TIMED.swap(0, Relaxed),
        threads: THREADS.swap(0, Relaxed),
        cpu: clock::process_cpu(),
        samples: count,
        ids: &ids,
    };
    let lines = control.evaluate(&window, switches::turn);
    if !lines.text().is_empty() {
        worker::append(SectionKind::Overhead, lines.into_payload());
    }
}

/// Switches off the methods that fill main's ring, if methods may be switched off. On the ticker's thread.
pub(crate) fn make_room(filling: &[Filling], now: u64) {
    let mut control = CONTROL.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(control) = control.as_mut() else { return };
    let lines = control.make_room(filling, now, switches::turn);
    if !lines.text().is_empty() {
        worker::append(SectionKind::Overhead, lines.into_payload());
    }
}

/// The samples since the last evaluation.
struct Window<'a> {
    now: u64,
    calls: u64,
    /// ns of the exits that were timed.
    took: i64,
    timed: u64,
    threads: u64,
    /// The process's CPU time so far, ns.
    cpu: Option<u64>,
    samples: u64,
    /// The kept samples' ids, sorted.
    ids: &'a [u32],
}

/// A method that is off, or was.
#[derive(Clone, Copy, Debug)]
struct Method {
    id: u32,
    /// Calls a second when it was switched off.
    rate: u64,
    /// How long it stays off, ns.
    stay: u64,
    /// When it was switched off, or on if it is on.
    since: u64,
    switch: Switch,
}

#[derive(Debug)]
struct Control {
    max: u32,
    /// The last evaluation, and the process's CPU time then.
    at: u64,
    cpu: u64,
    /// The recent cost of an event, in hundredths of a ns.
    cost: u64,
    /// Sorted by id.
    methods: Vec<Method>,
    /// The last recorded cost: the percentage in hundredths, and when.
    last_report: (u64, u64),
}

impl Control {
    fn new(max: u32, now: u64) -> Self {
        Self {
            max,
            at: now,
            cpu: clock::process_cpu().unwrap_or(0),
            cost: 0,
            methods: Vec::new(),
            last_report: (0, 0),
        }
    }

    /// Evaluates a window; returns the lines to record.
    fn evaluate(&mut self, window: &Window<'_>, turn: impl Fn(u32, Switch)) -> Writer {
        let now = window.now;
        let passed = now.saturating_sub(self.at).max(1);
        let cpu = window.cpu.map_or(u64::MAX, |cpu| cpu.saturating_sub(self.cpu));
        (self.at, self.cpu) = (now, window.cpu.unwrap_or(0));
        for method in self.methods.iter_mut().filter(|method| method.switch == Switch::Closing) {
            method.switch = Switch::Off;
            turn(method.id, Switch::Off);
        }
        if let Some(cost) = (window.took.max(0) as u64 * 100).checked_div(window.timed) {
            let cost = cost.max(1);
            // A few samples say little; with many the past says nothing, because a program that starts is
            // faster from window to window.
            let weight = (window.timed * 2).min(128);
            self.cost =
                if self.cost == 0 { cost } else { (self.cost * (128 - weight) + cost * weight) / 128 };
        }
        let time = (window.threads.max(1) * passed).min(cpu).max(passed / 10);
        let share =
            |calls: u64| (u128::from(calls) * 2 * u128::from(self.cost) * 100 / u128::from(time)) as u64;
        // Hundredths of a percent, as the cost is in hundredths of a ns.
        let percent = share(window.calls);
        let mut lines = Writer::default();
        let before = self.last_report;
        let over = self.max > 0 && percent > u64::from(self.max) && window.samples >= MIN_SAMPLES;
        let differs = percent.abs_diff(before.0) > before.0.max(100) / 2;
        if window.samples >= MIN_SAMPLES
            && (over || now.saturating_sub(before.1) >= REPORT_EVERY_NS || differs && before.1 == 0)
        {
            self.last_report = (percent, now);
            let events = (u128::from(window.calls) * 2_000_000_000 / u128::from(passed)) as u64;
            // The estimate for a program that is still being compiled may exceed the time there is.
            lines.cost(now, self.cost, events, percent.min(10_000));
        }
        if over {
            self.switch_off(window, percent, passed, &turn, &mut lines);
        } else if self.max == 0 || percent < u64::from(self.max) / 2 {
            self.switch_on(now, u64::from(self.max) / 2, &turn, &mut lines);
        }
        lines
    }

    fn switch_off(
        &mut self,
        window: &Window<'_>,
        percent: u64,
        passed: u64,
        turn: &impl Fn(u32, Switch),
        lines: &mut Writer,
    ) {
        // A call that blocks stays on: without it nothing would tell that a thread waits.
        let methods = window.ids.chunk_by(|a, b| a == b).filter(|same| ids::is_method(same[0]));
        let mut found: Vec<(usize, u32)> = methods.map(|same| (same.len(), same[0])).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        // So that the rest takes about half of what it may.
        let keep = u128::from(self.max / 2) * window.ids.len() as u128 / u128::from(percent);
        let mut left = window.ids.len() as u128;
        for (count, id) in found {
            // One sample is no pattern.
            if left <= keep || count < 2 {
                break;
            }
            left -= count as u128;
            let share = u128::from(window.calls) * count as u128 / window.ids.len() as u128;
            let rate = (share * 1_000_000_000 / u128::from(passed)) as u64;
            if self.is_switched_off(id, rate, window.now) {
                turn(id, Switch::Closing);
                lines.off(window.now, id, rate);
            }
        }
    }

    fn make_room(&mut self, filling: &[Filling], now: u64, turn: impl Fn(u32, Switch)) -> Writer {
        let mut lines = Writer::default();
        if self.max == 0 {
            return lines;
        }
        for &Filling { id, calls, words } in filling {
            if self.is_switched_off(id, calls, now) {
                turn(id, Switch::Closing);
                lines.off_for_room(now, id, calls, words);
            }
        }
        lines
    }

    /// Notes that a method is switched off; returns whether it was on.
    fn is_switched_off(&mut self, id: u32, rate: u64, now: u64) -> bool {
        let stay = FIRST_STAY_NS;
        match self.methods.binary_search_by_key(&id, |method| method.id) {
            Ok(at) => {
                let method = &mut self.methods[at];
                if method.switch != Switch::On {
                    // Its last calls were still sampled.
                    return false;
                }
                let again = now.saturating_sub(method.since) < TRIAL_NS;
                let stay = if again { (method.stay * 2).min(LONGEST_STAY_NS) } else { stay };
                *method = Method { id, rate, stay, since: now, switch: Switch::Closing };
            }
            Err(_) if self.methods.len() == MAX_METHODS => return false,
            Err(at) => {
                self.methods.insert(at, Method { id, rate, stay, since: now, switch: Switch::Closing });
            }
        }
        true
    }

    /// Switches on the methods that have been off long enough and would, at their old rates, take no more
    /// than `room` together, hundredths of a percent.
    fn switch_on(&mut self, now: u64, room: u64, turn: &impl Fn(u32, Switch), lines: &mut Writer) {
        let mut room = u128::from(room);
        for method in &mut self.methods {
            if method.switch != Switch::Off || now.saturating_sub(method.since) < method.stay {
                continue;
            }
            // Of one thread's time. A single method that is beyond it comes back alone.
            let share = u128::from(method.rate) * 2 * u128::from(self.cost) / 10_000_000;
            if share > room && room < u128::from(self.max / 2) {
                continue;
            }
            room = room.saturating_sub(share);
            (method.switch, method.since) = (Switch::On, now);
            turn(method.id, Switch::On);
            lines.on(now, method.id);
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn apps_keep_their_limit_when_the_worker_begins() {
        set_max(0);
        begin(DEFAULT_MAX);
        let control = CONTROL.lock().unwrap_or_else(PoisonError::into_inner);
        assert_eq!(control.as_ref().unwrap().max, 0);
    }

    /// A simulated program: methods with their calls a second, on one thread that is always busy.
    struct Program {
        control: Control,
        off: RefCell<BTreeSet<u32>>,
        now: u64,
    }

    impl Program {
        fn new(max: u32) -> Self {
            Self { control: Control { cpu: 0, ..Control::new(max, 0) }, off: RefCell::default(), now: 0 }
        }

        /// Runs a window; an event takes 5 ns. Returns its cost, in percent, and the lines.
        fn run(&mut self, methods: &[(u32, u64)]) -> (f64, String) {
            self.now += WINDOW_NS;
            let on: Vec<_> = methods
                .iter()
                .filter(|(id, _)| !self.off.borrow().contains(id))
                .map(|(id, rate)| (*id, rate * WINDOW_NS / 1_000_000_000))
                .collect();
            let calls: u64 = on.iter().map(|(_, calls)| calls).sum();
            let samples = calls / 1_536;
            let kept = samples.min(MAX_SAMPLES as u64);
            let ids: Vec<u32> = on
                .iter()
                .flat_map(|(id, of)| (0..(of * kept).checked_div(calls).unwrap_or(0)).map(|_| *id))
                .collect();
            let window = Window {
                now: self.now,
                calls,
                took: samples as i64 * 5,
                timed: samples,
                threads: 1,
                cpu: Some(self.now),
                samples,
                ids: &ids,
            };
            let lines = self.control.evaluate(&window, |id, switch| {
                if switch == Switch::On {
                    self.off.borrow_mut().remove(&id);
                } else {
                    self.off.borrow_mut().insert(id);
                }
            });
            ((calls * 10) as f64 / WINDOW_NS as f64 * 100.0, lines.text().to_owned())
        }
    }

    const BUSY: [(u32, u64); 4] = [(1, 60_000_000), (2, 20_000_000), (3, 1_000_000), (4, 20_000)];

    #[test]
    fn the_methods_that_are_called_most_go_off_until_the_cost_is_held() {
        let mut program = Program::new(300);
        let (cost, lines) = program.run(&BUSY);
        assert!(cost > 80.0, "{cost}");
        assert!(lines.starts_with("30000000 cost 5.00 16"), "{lines}");
        assert!(lines.contains("30000000 off 1 ") && lines.contains("30000000 off 2 "), "{lines}");
        let (cost, lines) = program.run(&BUSY);
        assert!(cost < 3.0, "{cost}: {lines}");
        assert_eq!(program.off.borrow().iter().copied().collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn what_is_off_is_tried_again_ever_more_seldom_and_stays_on_when_it_is_calm() {
        let mut program = Program::new(300);
        let mut dear = 0;
        for _ in 0..2_000 {
            dear += u32::from(program.run(&BUSY).0 > 3.0);
        }
        // 1 and 2 at 0, 5, 15, 35 s each, by themselves or together.
        assert!((2..=9).contains(&dear), "{dear} windows of 2,000");
        let calm = [(1, 60_000), (2, 20_000)];
        (0..12_000).for_each(|_| drop(program.run(&calm)));
        assert!(program.off.borrow().is_empty(), "{:?}", program.off);
    }

    #[test]
    fn what_fills_the_ring_goes_off_and_comes_back_as_what_costs_too_much_does() {
        let mut program = Program::new(300);
        let filling = [Filling { id: 7, calls: 1_000, words: 2_000 }];
        let fill = |program: &mut Program| {
            let lines = program.control.make_room(&filling, program.now, |id, _| {
                program.off.borrow_mut().insert(id);
            });
            lines.text().to_owned()
        };
        program.run(&[(7, 1_000)]);
        assert_eq!(fill(&mut program), "30000000 off 7 1000 2000\n");
        assert_eq!(fill(&mut program), "", "it is off already");
        let back = |program: &mut Program| {
            let since = program.now;
            while !program.off.borrow().is_empty() {
                program.run(&[]);
            }
            (program.now - since) / 1_000_000_000
        };
        assert_eq!(back(&mut program), 5);
        assert_eq!(fill(&mut program).lines().count(), 1);
        assert_eq!(back(&mut program), 10, "at once again");
        program.control.max = 0;
        assert_eq!(fill(&mut program), "", "nothing is to be switched off");
    }

    #[test]
    fn without_a_limit_no_method_is_switched_off_and_the_cost_is_recorded() {
        let mut program = Program::new(0);
        let (_, lines) = program.run(&BUSY);
        assert_eq!(lines.lines().count(), 1, "{lines}");
        assert!(lines.contains(" cost 5.00 "), "{lines}");
        assert!(program.off.borrow().is_empty());
        assert_eq!(Program::new(300).run(&[(1, 10_000)]), (0.01, String::new()));
    }
}
