//! The recorder's own events: the measured cost of an event, changes while recording, and the CPU time of main
//! while its message was late.

use std::collections::BTreeMap;

use trace_format::Thread;
use trace_format::event::{Change, Control, Usage};
use trace_format::layout::ClockMode;
use trace_format::sections::self_measurement::SelfMeasurement;

use super::overhead::Overhead;
use super::service::Service;

/// Maximum plausible rate of events per second: one per nanosecond. A damaged recording may have any number.
const MAX_RATE: u64 = 1_000_000_000;
/// Maximum time between two polls that belong together, ns: a late message is polled every half second, so main
/// was on time in between.
const MAX_BETWEEN: u64 = 2_000_000_000;

/// The estimated cost of recording a thread since its first event, ns, if `events` of its events are present;
/// overwritten events are assumed to be of the same kinds. The device may have been slower or faster later, and
/// an event with a payload costs somewhat more than a method.
fn estimate(measured: &SelfMeasurement, thread: &Thread, events: u64) -> f64 {
    let words = (thread.words() as f64).max(1.0);
    let coarse = thread.words_by(ClockMode::Coarse) as f64 / words;
    let ever = events as f64 * (thread.written() as f64 / words).max(1.0);
    ever * (measured.coarse * coarse + measured.precise * (1.0 - coarse))
}

/// Time of a thread's first event, overwritten or not; 0 if it has none.
#[must_use]
pub(crate) fn first_event(thread: &Thread) -> u64 {
    let first = thread.first_time();
    if thread.started > 0 { thread.started.min(first) } else { first }
}

/// `part` of `whole` in percent, with four decimals.
#[must_use]
pub(crate) fn percent(part: f64, whole: u64) -> f64 {
    let exact = if whole == 0 { 0.0 } else { part * 100.0 / whole as f64 };
    (exact * 1e4).round() / 1e4
}

/// The estimated cost of recording.
pub(crate) struct EstimatedCosts {
    /// The cost of each thread since its first event, ns.
    pub(crate) each: Vec<f64>,
    /// The cost in percent of main's time, if the recording has a main thread.
    pub(crate) main: Option<f64>,
    /// The cost of all threads in percent of one CPU, if any of them has an event.
    pub(crate) all: Option<f64>,
}

impl EstimatedCosts {
    /// Estimates the cost up to the moment `end`; `events` has the number of each thread's events.
    pub(crate) fn of(measured: &SelfMeasurement, threads: &[Thread], events: &[u64], end: u64) -> Self {
        let each: Vec<f64> = threads.iter().zip(events).map(|(t, n)| estimate(measured, t, *n)).collect();
        let lived = |first: u64| end.saturating_sub(first);
        let main = threads.iter().position(|thread| thread.main);
        let first = threads.iter().map(first_event).filter(|first| *first > 0).min();
        Self {
            main: main.map(|i| percent(each[i], lived(first_event(&threads[i])))),
            all: first.map(|first| percent(each.iter().sum(), lived(first))),
            each,
        }
    }
}

/// A pause: the app requested that nothing be recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// When it started.
    pub begin: u64,
    /// When recording resumed, if it did.
    pub end: Option<u64>,
}

/// Why a method was switched off.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OffReason {
    /// The app requested it.
    Asked,
    /// Its calls are short, and it exceeded the budget, with this many events per second if that figure is
    /// plausible.
    Budget(Option<u64>),
    /// Recording cost too much, and this method was called this many times per second.
    Cost(u64),
}

/// A method that is or was not recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MethodOff {
    /// Its id.
    pub method: u32,
    /// Switched off at, BOOTTIME ns.
    pub since: u64,
    /// Switched on again at, if it was.
    pub until: Option<u64>,
    /// The reason.
    pub why: OffReason,
}

/// A method was switched off or on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Switch {
    pub(crate) at: u64,
    pub(crate) method: u32,
    /// The reason, if it was switched off.
    pub(crate) off: Option<OffReason>,
}

/// Time ranges in which coarse time stood still, disjoint and sorted: start and end, BOOTTIME ns.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Standstills(Vec<(u64, u64)>);

impl Standstills {
    fn of(mut all: Vec<(u64, u64)>) -> Self {
        all.retain(|(since, until)| since < until);
        all.sort_unstable();
        let mut apart: Vec<(u64, u64)> = Vec::new();
        for (since, until) in all {
            match apart.last_mut() {
                Some(last) if since <= last.1 => last.1 = last.1.max(until),
                _ => apart.push((since, until)),
            }
        }
        Self(apart)
    }

    /// The time ranges.
    #[must_use]
    pub fn all(&self) -> &[(u64, u64)] {
        &self.0
    }

    /// How much of the time between two moments coarse time stood still, ns.
    #[must_use]
    pub fn within(&self, from: u64, to: u64) -> u64 {
        let first = self.0.partition_point(|(_, until)| *until <= from);
        let within = self.0[first..].iter().take_while(|(since, _)| *since < to);
        within.map(|(since, until)| (*until).min(to).saturating_sub((*since).max(from))).sum()
    }

    /// The total, ns.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.within(0, u64::MAX)
    }
}

/// Main's CPU time between two polls.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolledCpu {
    /// Time of the first poll.
    pub begin: u64,
    /// Time of the second poll.
    pub end: u64,
    /// Running, ns.
    pub ran: u64,
    /// Runnable but not running, ns.
    pub waited: u64,
    /// Voluntary context switches.
    pub voluntary: u32,
    /// Involuntary context switches.
    pub involuntary: u32,
    /// State at the second poll (man 5 proc_pid_stat).
    pub state: char,
}

impl PolledCpu {
    fn between((begin, from): &(u64, Usage), (end, to): &(u64, Usage)) -> Self {
        Self {
            begin: *begin,
            end: *end,
            ran: to.ran.saturating_sub(from.ran),
            waited: to.waited.saturating_sub(from.waited),
            voluntary: to.voluntary.saturating_sub(from.voluntary),
            involuntary: to.involuntary.saturating_sub(from.involuntary),
            state: if to.state.is_ascii_alphabetic() { to.state.into() } else { '?' },
        }
    }

    /// Time between the polls, ns.
    #[must_use]
    pub fn polled(&self) -> u64 {
        self.end - self.begin
    }

    /// The predominant state: the first question of any analysis.
    #[must_use]
    pub fn mostly(&self) -> &'static str {
        let half = self.polled() / 2;
        match self.state {
            _ if self.ran >= half => "running",
            _ if self.waited >= half => "waiting for a processor",
            // Only a poll while it sleeps shows the kind of sleep.
            'D' => "in uninterruptible sleep",
            'T' | 't' => "stopped",
            _ => "asleep",
        }
    }
}

/// What the service ring and the self-measurement section contain about the recorder.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct RecorderFacts {
    /// The measured cost of an event, if present.
    pub measurement: Option<SelfMeasurement>,
    /// Changes by time.
    pub changes: Vec<(u64, Control)>,
    /// When coarse time stood still.
    pub standstills: Standstills,
    /// The measured cost of recording.
    pub overhead: Overhead,
    /// Polls of main, by time.
    usage: Vec<(u64, Usage)>,
}

impl RecorderFacts {
    pub(super) fn new(measurement: Option<SelfMeasurement>, overhead: Overhead, service: &Service) -> Self {
        Self {
            measurement,
            changes: service.changes.clone(),
            standstills: Standstills::of(service.still.clone()),
            overhead,
            usage: service.usage.clone(),
        }
    }

    /// Pauses by time.
    #[must_use]
    pub fn pauses(&self) -> Vec<Pause> {
        let mut pauses: Vec<Pause> = Vec::new();
        for (at, control) in &self.changes {
            let open = pauses.last_mut().filter(|pause| pause.end.is_none());
            match (control.change, open) {
                (Change::Paused, None) => pauses.push(Pause { begin: *at, end: None }),
                (Change::Resumed, Some(pause)) => pause.end = Some(*at),
                _ => {}
            }
        }
        pauses
    }

    /// All switches of methods, by time. A switch that is both in the service ring and in the section is
    /// returned once.
    pub(crate) fn switches(&self) -> Vec<Switch> {
        let plausible = |rate: u64| Some(rate).filter(|rate| (1..=MAX_RATE).contains(rate));
        let controlled = self.changes.iter().filter_map(|(at, control)| {
            let off = match control.change {
                Change::MethodOff => Some(OffReason::Asked),
                Change::OverBudget => Some(OffReason::Budget(plausible(control.rate))),
                Change::MethodOn => None,
                _ => return None,
            };
            Some(Switch { at: *at, method: control.method, off })
        });
        let measured = self.overhead.switched.iter();
        let measured = measured.map(|s| {
            let why = |calls| match s.events {
                Some(events) => OffReason::Budget(plausible(events)),
                None => OffReason::Cost(calls),
            };
            Switch { at: s.at, method: s.method, off: s.off.map(why) }
        });
        // At equal times the measured switch comes first: it has more details.
        let mut all: Vec<Switch> = measured.chain(controlled).collect();
        all.sort_by_key(|switch| switch.at);
        let mut switches: Vec<Switch> = Vec::with_capacity(all.len());
        // Index of each method's last switch.
        let mut last: BTreeMap<u32, usize> = BTreeMap::new();
        for switch in all {
            match last.get(&switch.method).map(|i| &mut switches[*i]) {
                Some(before) if before.off.is_some() == switch.off.is_some() => {
                    if let (Some(OffReason::Budget(_)), Some(OffReason::Cost(_))) = (before.off, switch.off) {
                        before.off = switch.off;
                    }
                }
                _ => {
                    last.insert(switch.method, switches.len());
                    switches.push(switch);
                }
            }
        }
        switches
    }

    /// The methods that were switched off, by time, including those switched on again.
    #[must_use]
    pub fn switched_off(&self) -> Vec<MethodOff> {
        let mut all: Vec<MethodOff> = Vec::new();
        let mut open: BTreeMap<u32, usize> = BTreeMap::new();
        for Switch { at, method, off } in self.switches() {
            if let Some(why) = off {
                open.insert(method, all.len());
                all.push(MethodOff { method, since: at, until: None, why });
            } else if let Some(i) = open.remove(&method) {
                all[i].until = Some(at);
            }
        }
        all
    }

    /// The CPU time of thread `tid` between its first and last poll in this time range, if there are two.
    #[must_use]
    pub fn cpu(&self, tid: u32, from: u64, to: u64) -> Option<PolledCpu> {
        // Called for every message of main: the polls are sorted by time.
        let first = self.usage.partition_point(|(at, _)| *at < from);
        let within = self.usage[first..].iter().take_while(|(at, _)| *at <= to);
        let mut polls = within.filter(|(_, usage)| usage.tid == tid);
        let first = polls.next()?;
        Some(PolledCpu::between(first, polls.last()?))
    }

    /// The CPU time of thread `tid` from each poll in this time range to the next.
    pub(crate) fn polled(&self, tid: u32, from: u64, to: u64) -> Vec<PolledCpu> {
        let within = self.usage.iter().filter(|(at, usage)| usage.tid == tid && (from..=to).contains(at));
        let polls: Vec<_> = within.collect();
        polls.windows(2).map(|pair| PolledCpu::between(pair[0], pair[1])).collect()
    }

    /// The CPU time of thread `tid` between polls that belong together.
    pub(crate) fn spans(&self, tid: u32) -> impl Iterator<Item = PolledCpu> {
        let all = self.polled(tid, 0, u64::MAX).into_iter();
        all.filter(|span| (1..=MAX_BETWEEN).contains(&span.polled()))
    }

    /// Whether main was ever polled.
    pub(crate) fn has_usage(&self) -> bool {
        !self.usage.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use trace_format::section::SectionKind;
    use trace_format::synth::RecordingBuilder;
    use trace_format::{Event, Recording};

    const S: u64 = 1_000_000_000;

    fn facts(changes: &[(u64, Change, u32)]) -> RecorderFacts {
        let bytes = RecordingBuilder::new(1, "p").service(|t| {
            for (at, change, method) in changes {
                t.event(*at, Event::Control(Control { change: *change, method: *method, rate: 7 }));
            }
        });
        Facts::of(&Recording::open(bytes.build()).unwrap()).unwrap().recorder
    }

    /// The methods that were off at the end, by time.
    fn off_at_the_end(facts: &RecorderFacts) -> Vec<MethodOff> {
        let mut off = facts.switched_off();
        off.retain(|off| off.until.is_none());
        off
    }

    #[test]
    fn pauses_pair_and_the_last_may_be_open() {
        use Change::{Coarse, Paused, Resumed};
        let changes =
            [(1, Resumed), (2, Paused), (3, Paused), (4, Coarse), (5, Resumed), (6, Resumed), (9, Paused)];
        let found = facts(&changes.map(|(at, change)| (at * S, change, 0))).pauses();
        assert_eq!(found, [Pause { begin: 2 * S, end: Some(5 * S) }, Pause { begin: 9 * S, end: None }]);
    }

    #[test]
    fn a_method_is_off_since_it_was_first_switched_off_and_not_on_again() {
        use Change::{MethodOff, MethodOn, OverBudget};
        let changes =
            [(1, MethodOff, 5), (2, OverBudget, 3), (3, MethodOn, 5), (4, MethodOff, 5), (5, MethodOff, 3)];
        let off = off_at_the_end(&facts(&changes.map(|(at, change, method)| (at * S, change, method))));
        assert_eq!(off.iter().map(|o| (o.method, o.since)).collect::<Vec<_>>(), [(3, 2 * S), (5, 4 * S)]);
    }

    #[test]
    fn switches_in_both_ring_and_section_are_returned_once_and_implausible_rates_are_dropped() {
        let control = |change, method, rate| Event::Control(Control { change, method, rate });
        let bytes = RecordingBuilder::new(1, "p")
            .service(|t| {
                t.event(2 * S, control(Change::OverBudget, 5, 1_015_000_000_000_000));
                t.event(3 * S, control(Change::OverBudget, 6, 1_015_000_000_000_000));
                t.event(4 * S, control(Change::MethodOn, 5, 0))
                    .event(5 * S, control(Change::OverBudget, 7, 250_000));
            })
            .section(SectionKind::Overhead, b"2000000001 off 5 900000\n4000000001 on 5\n6000000000 on 6\n");
        let facts = Facts::of(&Recording::open(bytes.build()).unwrap()).unwrap().recorder;
        let off: Vec<_> =
            facts.switched_off().iter().map(|o| (o.method, o.until.map(|at| at / S), o.why)).collect();
        assert_eq!(
            off,
            [
                (5, Some(4), OffReason::Cost(900_000)),
                (6, Some(6), OffReason::Budget(None)),
                (7, None, OffReason::Budget(Some(250_000)))
            ]
        );
        assert_eq!((off_at_the_end(&facts).len(), facts.switches().len()), (1, 5));
    }

    #[test]
    fn what_the_ring_of_main_has_no_room_for_was_over_the_budget() {
        let bytes = RecordingBuilder::new(1, "p").section(
            SectionKind::Overhead,
            b"1000000000 off 5 100 200\n2000000000 off 6 100\n3000000000 on 5\n4000000000 off 5 100 1000000001\n",
        );
        let facts = Facts::of(&Recording::open(bytes.build()).unwrap()).unwrap().recorder;
        let off: Vec<_> = facts.switched_off().iter().map(|o| (o.method, o.why)).collect();
        let (budget, unknown) = (OffReason::Budget(Some(200)), OffReason::Budget(None));
        assert_eq!(off, [(5, budget), (6, OffReason::Cost(100)), (5, unknown)]);
    }

    #[test]
    fn standstills_that_meet_are_one() {
        let still = Standstills::of(vec![(50, 60), (10, 20), (15, 30), (30, 35), (70, 70), (90, 80)]);
        assert_eq!(still.all(), [(10, 35), (50, 60)]);
        assert_eq!((still.total(), still.within(20, 55), still.within(36, 50)), (35, 20, 0));
    }

    #[test]
    fn two_polls_show_what_main_did_in_between_and_one_does_not() {
        let poll = |ran, waited, state| Usage { tid: 7, state, ran, waited, voluntary: 1, involuntary: 0 };
        let polls = [
            (1, poll(S, 0, b'S')),
            (2, poll(2 * S, 0, b'R')),
            (3, poll(2 * S, S, b'R')),
            (9, poll(2 * S, S, b'D')),
        ];
        let usage = polls.map(|(at, usage)| (at * S, usage)).to_vec();
        let facts = RecorderFacts { usage, ..RecorderFacts::default() };
        let spans: Vec<_> = facts.spans(7).map(|span| (span.begin / S, span.mostly())).collect();
        assert_eq!(spans, [(1, "running"), (2, "waiting for a processor")], "nothing of the six seconds");
        assert_eq!((facts.cpu(7, 0, S), facts.cpu(8, 0, 9 * S)), (None, None));
        let all = facts.cpu(7, 0, 9 * S).unwrap();
        assert_eq!(
            (all.ran, all.waited, all.polled(), all.mostly()),
            (S, S, 8 * S, "in uninterruptible sleep")
        );
    }

    #[test]
    fn the_estimate_takes_each_clocks_share() {
        let m = SelfMeasurement::parse(b"clock=vDSO\nns_per_event_coarse=3.00\nns_per_event_precise=43.00\n")
            .unwrap();
        let bytes = RecordingBuilder::new(1, "p")
            .main("main", |t| {
                t.enter(S, 1).exit(2 * S, 1);
            })
            .thread("coarse", 9, |t| {
                t.coarse().enter(S, 1);
            })
            .thread("long", 10, |t| {
                t.overwritten(2).enter(S, 1).exit(S, 1);
            })
            .build();
        let recording = Recording::open(bytes).unwrap();
        let of = |i: usize| estimate(&m, &recording.threads()[i], 100);
        assert_eq!((of(0), of(1)), (4300.0, 300.0));
        // Two of 2,034 words are left.
        assert_eq!(of(2), 4300.0 * 1017.0);
        assert_eq!((percent(5.0, 1000), percent(1.0, 0)), (0.5, 0.0));
    }
}
