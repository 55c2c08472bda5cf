//! Decides which signals and stalls are ANRs.
//!
//! * A SIGQUIT that the process itself judged (a verdict section) is what the verdict states: an ANR or a
//!   suspected one, from the start of main's message to the moment at which the signal was sensed; a repeated
//!   signal of an ANR, which is only counted; or a capture.
//! * **The 2 s rule** applies to a SIGQUIT without a verdict (a recording that ended before the
//!   verdict): it is an ANR if main is in a message or another unit that started at least [`BLOCKED`] ago, else a
//!   request for a thread dump.
//! * For a SIGQUIT whose event has no message, main's own record is searched: an input event, an idle handler
//!   or any other call may have been open outside of messages.
//! * A stall that the watchdog found supports the ANR of the same message. Without a SIGQUIT it is a suspected
//!   ANR of its own.

use std::collections::{BTreeSet, HashMap};

use trace_format::Event;
use trace_format::event::{Sigquit, TextId};
use trace_format::verdict::{Counters, Outcome, Verdict};

use super::MAX_TIME;
use super::service::Service;
use super::verdicts::Verdicts;

/// Age of main's message or other unit from which a SIGQUIT without a verdict counts as an ANR: Matrix's rule
/// for the foreground.
pub(crate) const BLOCKED: u64 = 2_000_000_000;

/// Maximum number of ANRs, captures and notices kept.
const MAX_INCIDENTS: usize = 1024;

/// What detected an ANR.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Detector {
    /// The system: it requested a thread dump.
    Sigquit(Sigquit),
    /// The recorder's own timer; the system may never have noticed.
    Watchdog,
}

/// An ANR, confirmed or suspected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Anr {
    /// Start of the message or other unit that main was in; `detected` if main was in no unit, or it is unknown.
    pub since: u64,
    /// When it was detected.
    pub detected: u64,
    /// What detected it.
    pub detector: Detector,
    /// When the watchdog found the stall, if it did.
    pub watchdog: Option<u64>,
    /// When main recovered, if that was recorded.
    pub recovered: Option<u64>,
    /// Number of further SIGQUITs for this ANR.
    pub more_signals: u32,
    /// The process's own verdict on the signal. Without one, the 2 s rule judged the signal.
    pub verdict: Option<Verdict>,
}

impl Anr {
    fn new(since: u64, detected: u64, detector: Detector) -> Self {
        let (watchdog, recovered, more_signals, verdict) = (None, None, 0, None);
        Self { since, detected, detector, watchdog, recovered, more_signals, verdict }
    }

    /// How long main was blocked at the detection, ns.
    #[must_use]
    pub fn blocked(&self) -> u64 {
        self.detected - self.since
    }

    /// Whether the ANR is only suspected.
    #[must_use]
    pub fn suspected(&self) -> bool {
        match &self.verdict {
            Some(verdict) if verdict.is_outcome_known() => verdict.outcome != Outcome::Anr,
            _ => self.detector == Detector::Watchdog,
        }
    }

    /// The subject in the project's words, since the system's subject is unknown here. An ANR by SIGQUIT uses
    /// none of the system's forms; a suspected one uses `App requested:`, the platform's form for ANRs that the
    /// app reports.
    #[must_use]
    pub fn subject(&self) -> String {
        let main = match self.blocked() / 1_000_000 {
            0 => "main thread not seen blocked".to_owned(),
            ms => format!("main thread blocked {ms} ms"),
        };
        match (&self.detector, self.suspected()) {
            (Detector::Sigquit(_), false) => format!("{main} (SIGQUIT)"),
            (Detector::Sigquit(_), true) => format!("App requested: {main} (suspected at a SIGQUIT)"),
            (Detector::Watchdog, _) => format!("App requested: {main} (watchdog)"),
        }
    }

    /// A stable identity for this ANR, in the form of a UUID.
    pub(crate) fn error_id(&self, pid: u32) -> String {
        let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128;
        let bytes = [u64::from(pid), self.since, self.detected].map(u64::to_le_bytes).concat();
        for byte in bytes {
            hash = (hash ^ u128::from(byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
        let hex = format!("{hash:032x}");
        format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
    }
}

/// A SIGQUIT that was not an ANR of this process but a request for a thread dump.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Capture {
    /// When the signal was sensed.
    pub at: u64,
    /// The signal.
    pub sigquit: Sigquit,
    /// The process's own verdict. Without one, the 2 s rule judged the signal.
    pub verdict: Option<Verdict>,
}

/// ANRs and SIGQUITs from the service ring and the verdicts.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Incidents {
    /// ANRs by their start.
    pub anrs: Vec<Anr>,
    /// Captures by time.
    pub captures: Vec<Capture>,
    /// The recorder's notices.
    pub notices: Vec<(u64, TextId)>,
    /// Number of these that were not kept.
    pub more: u64,
    /// The sensor's counters at the last verdict, if there is one.
    pub counters: Option<Counters>,
}

/// The times of the signals without a message.
pub(super) fn without_message(service: &Service, verdicts: &Verdicts) -> BTreeSet<u64> {
    let judged = verdicts.by_signal.values().map(|v| v.sigquit);
    let sensed = service.incidents.iter().filter_map(|(_, event)| match event {
        Event::Sigquit(s) => Some(*s),
        _ => None,
    });
    judged.chain(sensed).filter(|s| s.stuck_since == 0).map(|s| s.sensed).collect()
}

impl Incidents {
    /// Judges the signals that the process itself has not judged. `begun` maps each signal to the start of what
    /// main was in.
    pub(super) fn new(mut verdicts: Verdicts, service: &Service, begun: HashMap<u64, u64>) -> Self {
        let mut found = Self { counters: verdicts.counters, ..Self::default() };
        for (time, event) in &service.incidents {
            found.event(*time, *event, &mut verdicts, &begun);
        }
        // Their events were overwritten: the ring is overwritten, sections are kept.
        for verdict in std::mem::take(&mut verdicts.by_signal).into_values() {
            if found.has_room() {
                found.sigquit(verdict.sigquit, Some(verdict), &begun);
            }
        }
        found.anrs.sort_by_key(|a| (a.since, a.detected));
        found.captures.sort_by_key(|c| c.at);
        found
    }

    /// The first signal that was another process's, with its verdict.
    pub(crate) fn of_another(&self) -> Option<(u64, &Verdict)> {
        let mut judged =
            self.captures.iter().filter_map(|capture| Some((capture.at, capture.verdict.as_ref()?)));
        judged.find(|(_, verdict)| verdict.outcome == Outcome::OtherProcess)
    }

    /// Counts what exceeds the limit.
    fn has_room(&mut self) -> bool {
        let room = self.anrs.len() + self.captures.len() + self.notices.len() < MAX_INCIDENTS;
        self.more += u64::from(!room);
        room
    }

    fn event(&mut self, time: u64, event: Event, verdicts: &mut Verdicts, begun: &HashMap<u64, u64>) {
        let verdict = match event {
            Event::Sigquit(s) => verdicts.by_signal.remove(&s.sensed),
            _ => None,
        };
        if !self.has_room() {
            return;
        }
        match event {
            Event::Sigquit(s) => self.sigquit(s, verdict, begun),
            Event::Stall(s) if s.stuck_since > 0 && s.stuck_since <= time => self.stall(s.stuck_since, time),
            Event::Recovered(s) => {
                if let Some(anr) = self.anrs.iter_mut().find(|a| a.since == s.stuck_since) {
                    anr.recovered.get_or_insert(time);
                }
            }
            Event::Notice(text) => self.notices.push((time, text)),
            _ => {}
        }
    }

    fn sigquit(&mut self, s: Sigquit, verdict: Option<Verdict>, begun: &HashMap<u64, u64>) {
        let at = s.sensed.min(MAX_TIME);
        let is_long = |begun: &&u64| at.saturating_sub(**begun) >= BLOCKED;
        let stuck_since = match s.stuck_since {
            0 => begun.get(&s.sensed).filter(is_long).copied().unwrap_or(0),
            since if since <= at => since,
            _ => 0,
        };
        let same = |a: &&mut Anr| stuck_since > 0 && a.since == stuck_since;
        let known = self.anrs.iter_mut().find(same);
        let is_anr = match (&verdict, &known) {
            (Some(verdict), _) if verdict.is_outcome_known() => match verdict.outcome {
                Outcome::Anr | Outcome::SuspectedAnr => true,
                Outcome::Duplicate => return self.duplicate(s, verdict.clone()),
                Outcome::OtherProcess | Outcome::DumpRequested | Outcome::ToolAttached | Outcome::Unknown => {
                    false
                }
            },
            (_, Some(_)) => true,
            (_, None) => stuck_since > 0 && at - stuck_since >= BLOCKED,
        };
        if !is_anr {
            self.captures.push(Capture { at, sigquit: s, verdict });
            return;
        }
        let Some(anr) = known else {
            let since = if stuck_since > 0 { stuck_since } else { at };
            self.anrs.push(Anr { verdict, ..Anr::new(since, at, Detector::Sigquit(s)) });
            return;
        };
        let first = !matches!(anr.detector, Detector::Sigquit(_));
        anr.more_signals += u32::from(!first);
        // The system's detection outweighs the recorder's timer, which becomes evidence; an ANR outweighs a
        // suspicion.
        let stronger = verdict.as_ref().is_some_and(|v| v.outcome == Outcome::Anr) && anr.suspected();
        if first || stronger {
            anr.detector = Detector::Sigquit(s);
            anr.detected = at.max(anr.since);
            anr.verdict = verdict;
        }
    }

    /// A repeated signal of a recorded ANR: of the same message, or of the last ANR before it.
    fn duplicate(&mut self, s: Sigquit, verdict: Verdict) {
        let at = s.sensed.min(MAX_TIME);
        let by_signal = |a: &&Anr| matches!(a.detector, Detector::Sigquit(_)) && a.detected <= at;
        let same = self.anrs.iter().position(|a| by_signal(&a) && a.since == s.stuck_since);
        let last = || {
            let before = self.anrs.iter().enumerate().filter(|(_, a)| by_signal(a));
            before.max_by_key(|(_, a)| a.detected).map(|(i, _)| i)
        };
        match same.or_else(last) {
            Some(i) => self.anrs[i].more_signals += 1,
            // The ANR that it repeats was overwritten.
            None => self.captures.push(Capture { at, sigquit: s, verdict: Some(verdict) }),
        }
    }

    fn stall(&mut self, since: u64, at: u64) {
        match self.anrs.iter_mut().find(|a| a.since == since) {
            Some(anr) => {
                anr.watchdog.get_or_insert(at);
            }
            None => {
                self.anrs.push(Anr { watchdog: Some(at), ..Anr::new(since, at, Detector::Watchdog) });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Facts;
    use trace_format::Recording;
    use trace_format::event::{Forward, Stall};
    use trace_format::section::SectionKind;
    use trace_format::synth::{RecordingBuilder, ThreadBuilder};
    use trace_format::verdict::{Confidence, Policy, Sender};

    const S: u64 = 1_000_000_000;

    fn sigquit(at: u64, stuck_since: u64) -> Event {
        let forward = Forward::Catcher;
        Event::Sigquit(Sigquit { sensed: at, si_code: 0, si_pid: 9, si_uid: 1000, forward, stuck_since })
    }

    fn of(bytes: Vec<u8>) -> Incidents {
        Facts::of(&Recording::open(bytes).unwrap()).unwrap().incidents
    }

    fn incidents(fill: impl FnOnce(&mut ThreadBuilder)) -> Incidents {
        let bytes = RecordingBuilder::new(42, "p").service(fill).build();
        of(bytes)
    }

    #[test]
    fn a_stall_and_many_signals_for_one_message_are_one_anr() {
        let stall = Event::Stall(Stall { stuck_since: 10 * S });
        let found = incidents(|t| {
            t.event(15 * S, stall)
                .event(16 * S, sigquit(16 * S, 10 * S))
                .event(17 * S, sigquit(17 * S, 10 * S))
                .event(18 * S, stall)
                .event(20 * S, Event::Recovered(Stall { stuck_since: 10 * S }));
        });
        let [anr] = &found.anrs[..] else { panic!("{found:?}") };
        assert!(matches!(anr.detector, Detector::Sigquit(s) if s.si_pid == 9));
        assert_eq!((anr.since, anr.detected, anr.watchdog), (10 * S, 16 * S, Some(15 * S)));
        assert_eq!((anr.more_signals, anr.recovered, anr.blocked()), (1, Some(20 * S), 6 * S));
        assert_eq!(anr.subject(), "main thread blocked 6000 ms (SIGQUIT)");
        assert!(found.captures.is_empty());
    }

    #[test]
    fn a_signal_that_finds_main_at_work_is_a_capture() {
        let found = incidents(|t| {
            t.event(5 * S, sigquit(5 * S, 0)).event(6 * S, sigquit(6 * S, 5 * S));
        });
        assert_eq!((found.anrs.len(), found.captures.len()), (0, 2));
    }

    #[test]
    fn a_signal_that_a_later_version_forwards_by_other_means_is_still_a_signal() {
        let found = incidents(|t| {
            let Event::Sigquit(signal) = sigquit(16 * S, 10 * S) else { panic!() };
            t.event(16 * S, Event::Sigquit(Sigquit { forward: Forward::Unknown(9), ..signal }));
        });
        let [anr] = &found.anrs[..] else { panic!("{found:?}") };
        assert!(matches!(anr.detector, Detector::Sigquit(s) if s.forward == Forward::Unknown(9)));
    }

    #[test]
    fn a_stall_alone_is_reported_as_suspected() {
        let found = incidents(|t| {
            t.event(15 * S, Event::Stall(Stall { stuck_since: 10 * S }));
        });
        let [anr] = &found.anrs[..] else { panic!("{found:?}") };
        assert_eq!(anr.subject(), "App requested: main thread blocked 5000 ms (watchdog)");
        let id = anr.error_id(42);
        assert_eq!((id.len(), id.matches('-').count()), (36, 4));
        assert_ne!(id, anr.error_id(43));
    }

    fn verdict(sigquit: Event, outcome: Outcome) -> Verdict {
        let Event::Sigquit(sigquit) = sigquit else { panic!() };
        Verdict {
            sigquit,
            reconsidered: false,
            policy: Policy::Anrscope,
            outcome,
            confidence: Confidence::Medium,
            sender: Sender::System,
            foreground: None,
            counters: Counters { sensed: sigquit.sensed / S, ..Counters::default() },
            reasons: Vec::new(),
        }
    }

    /// Events as in the ring, and verdicts as sections.
    fn judged(signals: &[Event], verdicts: &[Verdict]) -> Incidents {
        let mut b = RecordingBuilder::new(42, "p").service(|t| {
            for signal in signals {
                let Event::Sigquit(s) = signal else { panic!() };
                t.event(s.sensed, *signal);
            }
        });
        for verdict in verdicts {
            b = b.section(SectionKind::Verdict, &verdict.encode());
        }
        of(b.build())
    }

    #[test]
    fn a_verdict_counts_and_not_the_rule() {
        let (stuck, idle) = (sigquit(20 * S, 10 * S), sigquit(30 * S, 0));
        let found =
            judged(&[stuck, idle], &[verdict(stuck, Outcome::OtherProcess), verdict(idle, Outcome::Anr)]);
        let ([anr], [capture]) = (&found.anrs[..], &found.captures[..]) else { panic!("{found:?}") };
        assert_eq!((capture.at, capture.verdict.as_ref().unwrap().outcome), (20 * S, Outcome::OtherProcess));
        assert_eq!((anr.since, anr.detected, anr.suspected()), (30 * S, 30 * S, false));
        assert_eq!(anr.subject(), "main thread not seen blocked (SIGQUIT)");
        assert_eq!(found.counters.unwrap().sensed, 30);
    }

    #[test]
    fn the_latest_verdict_on_a_signal_counts_in_any_order() {
        let signal = sigquit(20 * S, 10 * S);
        let first = verdict(signal, Outcome::SuspectedAnr);
        let last = Verdict { reconsidered: true, ..verdict(signal, Outcome::Anr) };
        for verdicts in [[first.clone(), last.clone()], [last, first]] {
            let found = judged(&[signal], &verdicts);
            let [anr] = &found.anrs[..] else { panic!("{found:?}") };
            assert_eq!(anr.subject(), "main thread blocked 10000 ms (SIGQUIT)");
        }
    }

    #[test]
    fn a_suspicion_has_the_form_of_one_and_gives_way_to_an_anr_of_the_same_message() {
        let (late, stuck, more) = (sigquit(13 * S, 10 * S), sigquit(18 * S, 10 * S), sigquit(19 * S, 10 * S));
        let suspicion = verdict(late, Outcome::SuspectedAnr);
        let found = judged(&[late], std::slice::from_ref(&suspicion));
        assert_eq!(
            found.anrs[0].subject(),
            "App requested: main thread blocked 3000 ms (suspected at a SIGQUIT)"
        );
        let all = [suspicion, verdict(stuck, Outcome::Anr), verdict(more, Outcome::Duplicate)];
        let found = judged(&[late, stuck, more], &all);
        let [anr] = &found.anrs[..] else { panic!("{found:?}") };
        assert_eq!((anr.detected, anr.more_signals, anr.suspected()), (18 * S, 2, false));
        assert!(found.captures.is_empty());
    }

    #[test]
    fn a_verdict_outlives_its_event_in_the_ring() {
        let signal = sigquit(20 * S, 10 * S);
        let found = judged(&[], &[verdict(signal, Outcome::Anr)]);
        let [anr] = &found.anrs[..] else { panic!("{found:?}") };
        assert_eq!((anr.since, anr.detected), (10 * S, 20 * S));
        let found = judged(&[], &[verdict(signal, Outcome::Duplicate)]);
        assert_eq!((found.anrs.len(), found.captures.len()), (0, 1), "nothing is left of what it doubled");
    }

    #[test]
    fn what_no_verdict_can_be_read_from_is_left_to_the_rule_and_counted() {
        let signal = sigquit(20 * S, 10 * S);
        let Event::Sigquit(s) = signal else { panic!() };
        let bytes = RecordingBuilder::new(42, "p")
            .service(|t| {
                t.event(s.sensed, signal);
            })
            .section(SectionKind::Verdict, b"verdict=of a later kind\n")
            .section(SectionKind::Verdict, &vec![b'x'; 1 << 20])
            .build();
        let recording = Recording::open(bytes).unwrap();
        let found = Facts::of(&recording).unwrap();
        assert_eq!((found.incidents.anrs.len(), found.skipped().total()), (1, 2));
        assert_eq!(found.incidents.anrs[0].verdict, None);
    }

    #[test]
    fn verdicts_by_the_thousand_and_times_beyond_all_bounds_are_bounded() {
        let wild = |i: u64| sigquit(u64::MAX - i, u64::MAX - i / 2);
        let all: Vec<_> = (0..5_000).map(|i| verdict(wild(i), Outcome::Anr)).collect();
        let found = judged(&[], &all);
        assert_eq!(found.anrs.len(), MAX_INCIDENTS);
        assert_eq!(found.more, 2_048 - MAX_INCIDENTS as u64);
        assert!(found.anrs.iter().all(|a| a.since <= a.detected && a.detected <= MAX_TIME));
    }

    #[test]
    fn a_storm_is_counted_not_kept() {
        let found = incidents(|t| {
            for i in 0..3000 {
                t.event(S + i, sigquit(S + i, 0));
            }
        });
        assert_eq!((found.captures.len(), found.more), (MAX_INCIDENTS, 3000 - MAX_INCIDENTS as u64));
    }
}
