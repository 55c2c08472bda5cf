//! The stretch in which main did not come back.

use trace_format::event::Wait;
use trace_format::layout::State;
use trace_format::{ReadError, Recording, Source};

use super::busy::Busy;
use super::frame::{Frame, FrameKind};
use super::owners;
use super::waits::{WaitFact, doing, wait_fact};
use super::walk::{Ended, Walk, text};
use crate::answer::observed::{Observed, Short, WaitSum};
use crate::facts::Unit;
use crate::facts::{Anr, Facts, Processor, UnitKind};
use crate::model::Names;
use crate::words::thread_name;

/// A message, or a call in no message, that is open at the end of the recording is a hang from this age on, ns.
const HANG: u64 = 2_000_000_000;

/// One that ended is a hang from this length on, ns: the system's limit for input (AOSP `ActivityManagerService`, API 21 to 34).
pub(super) const LONG_HANG: u64 = trace_format::android::ANR_LIMIT_NS;

/// Different things that one message waits for.
const MAX_WAIT_KINDS: usize = 256;

/// A stretch in which the main thread did not come back.
#[derive(Clone, PartialEq, Debug)]
pub struct Hang {
    /// The message that main was in, or what else it was in, in no message, if either is known.
    pub unit: Option<Unit>,
    /// When it began.
    pub since: u64,
    /// When it ended, or the last moment of the recording.
    pub until: u64,
    /// Whether it ended.
    pub ended: bool,
    /// The moment at which `stack` was taken: the last one, or for a hang that ended, when the ANR was
    /// detected.
    pub at: u64,
    /// What was open on main at that moment, outermost first.
    pub stack: Vec<Frame>,
    /// The wait that main was in at that moment.
    pub wait: Option<WaitFact>,
    /// The same as it is recorded.
    pub(super) open_wait: Option<Wait>,
    /// Where main spent it, if that is recorded.
    pub busy: Option<Busy>,
    /// How much of it coarse time stood still, ns: calls look short there, or are missing.
    pub standstill: u64,
    /// What main used of the processor meanwhile, if it was looked at.
    pub processor: Option<Processor>,
    /// The ANR that was made of it.
    pub anr: Option<Anr>,
}

impl Hang {
    /// The message that main was in, if it was in one.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.unit.as_ref().and_then(Unit::message)
    }

    /// How long it lasted, as far as is known.
    #[must_use]
    pub fn duration(&self) -> u64 {
        self.until.saturating_sub(self.since)
    }

    /// The method that main was in for nearly all of it, else the innermost one that was open.
    #[must_use]
    pub fn main_method(&self) -> Option<&Frame> {
        self.busy.as_ref().and_then(Busy::method).or_else(|| self.method())
    }

    /// Whether it began before the moment that is told as its begin.
    #[must_use]
    pub fn began_before(&self) -> bool {
        self.unit.as_ref().is_some_and(|unit| unit.began_before && unit.since == self.since)
    }

    /// Puts what it says into the terms of the rules.
    pub(super) fn observe(&self, facts: &mut Observed) {
        facts.hung = true;
        (facts.since, facts.asked) = (self.since, self.at);
        facts.message = self.unit.as_ref().map(|unit| unit.name.clone());
        let long = |since: u64| self.at.saturating_sub(since) >= self.at.saturating_sub(self.since) / 2;
        let methods = || self.stack.iter().rev().filter(|f| f.kind == FrameKind::Method);
        let busy = self.busy.as_ref();
        let method = methods().find(|f| long(f.since)).or_else(|| methods().next());
        let method = busy.and_then(Busy::method).or(method);
        facts.method = method.map(|f| (f.name.clone(), f.since));
        facts.standstill = self.standstill;
        facts.short = busy.filter(|busy| busy.short_calls > 0).map(|busy| Short {
            calls: busy.short_calls,
            last: busy.counted,
            hot: busy.hot.first().cloned(),
        });
        // Of a loop the calls that were open throughout say where it is; what was open at the last moment is chance.
        let chain = busy.map(|busy| &busy.chain[..]).filter(|chain| self.wait.is_none() && !chain.is_empty());
        facts.recorded = owners::lines(chain.unwrap_or(&self.stack), self.at);
    }

    /// The innermost method that was open.
    #[must_use]
    pub fn method(&self) -> Option<&Frame> {
        self.stack.iter().rev().find(|f| f.kind == FrameKind::Method)
    }
}

/// The ANR that is reported first: the one that lasted longest. One that found main in nothing that took long (a service, a
/// broadcast, or a main of which nothing is known) is no hang of main's.
pub(super) fn worst(anrs: &[Anr]) -> Option<&Anr> {
    anrs.iter()
        .filter(|a| a.blocked() > 0)
        .max_by_key(|a| (a.recovered.unwrap_or(u64::MAX).saturating_sub(a.since), a.blocked()))
}

/// The hang that `anr` tells of; without one, what main was in at the end, or what it was in for long: `ended`, whose stack the walk
/// then has.
pub(super) fn hang<S: Source>(
    facts: &Facts<'_, S>,
    names: &Names<'_>,
    walk: &Walk<'_, S>,
    anr: Option<&Anr>,
    ended: Option<Ended>,
    end: u64,
) -> Result<Option<Hang>, ReadError> {
    let last = walk.snapshot();
    let open = walk.unit();
    // What main did when the ANR was detected is what counts if it went on afterwards; else what it does at the end.
    let (now, then) =
        ((&last, open.as_ref()), (walk.asked.as_ref().unwrap_or(&last), walk.asked_unit.as_ref()));
    let (since, at, until, ended, (snapshot, unit)) = match anr {
        Some(anr) => match anr.recovered.or(walk.left.filter(|left| *left >= anr.detected)) {
            Some(ended) => {
                (anr.since, anr.detected, ended, true, if walk.asked.is_some() { then } else { now })
            }
            None => (anr.since, end, end, false, now),
        },
        None => match (open_at_end(walk, end, in_order(facts)), ended) {
            (Some(since), _) => (since, end, end, false, now),
            (None, Some(ended)) => {
                (ended.since, middle(ended), ended.until, true, if walk.asked.is_some() { then } else { now })
            }
            (None, None) => return Ok(None),
        },
    };
    // A call that stands for a message may be seen late: it has been open since it began.
    let begun = unit.filter(|unit| unit.kind == UnitKind::Call && !unit.began_before).map(|unit| unit.since);
    let since = begun.map_or(since, |begun| since.min(begun));
    let unit = unit.cloned().or_else(|| Unit::of_samples(facts.sections.samples.within(since, until)));
    let wait = match snapshot.last().and_then(|o| o.wait) {
        Some(wait) => {
            let begun = snapshot.last().map_or(since, |o| o.frame.since);
            Some(wait_fact(facts, names, &wait, begun, at)?)
        }
        None => None,
    };
    Ok(Some(Hang {
        unit,
        since,
        until,
        ended,
        at,
        stack: snapshot.iter().map(|o| o.frame.clone()).collect(),
        wait,
        open_wait: snapshot.last().and_then(|open| open.wait),
        busy: None,
        standstill: 0,
        processor: None,
        anr: anr.cloned(),
    }))
}

/// When what is open at the end began, if that is long ago. A main without messages hangs in a wait, or in its innermost call
/// if the process did not end in order: one that calls `System.exit` leaves its calls open.
pub(super) fn open_at_end<S: Source>(walk: &Walk<'_, S>, end: u64, in_order: bool) -> Option<u64> {
    if walk.has_messages() {
        let unit = walk.unit()?;
        return (end.saturating_sub(unit.since) >= HANG).then_some(unit.since);
    }
    let innermost = walk.snapshot().pop()?;
    let counts = innermost.wait.is_some() || innermost.frame.kind == FrameKind::Method && !in_order;
    (counts && end.saturating_sub(innermost.frame.since) >= LONG_HANG).then_some(innermost.frame.since)
}

/// Whether the recording ended because the process did, by its own will.
pub(super) fn in_order<S: Source>(facts: &Facts<'_, S>) -> bool {
    facts.recording.header().state == Some(State::Ended)
}

/// The moment of a hang at which the system would have asked.
pub(super) fn middle(ended: Ended) -> u64 {
    ended.since.saturating_add(LONG_HANG).min(ended.until)
}

/// The waits of the message that hung, by kind and by what was waited for.
pub(super) fn wait_sums<S: Source>(
    recording: &Recording<S>,
    walk: &Walk<'_, S>,
    hang: &Hang,
) -> Vec<WaitSum> {
    let mut sums: Vec<WaitSum> = Vec::new();
    for waited in walk.history.waits(hang.at).filter(|w| w.end > hang.since) {
        let what = text(recording, waited.wait.class);
        let total = waited.end.saturating_sub(waited.since.max(hang.since));
        if let Some(sum) = sums.iter_mut().find(|sum| sum.kind == waited.wait.kind && sum.what == what) {
            sum.count += 1;
            sum.total = sum.total.saturating_add(total);
            continue;
        }
        let owner = recording.threads().iter().find(|t| waited.wait.owner > 0 && t.uid == waited.wait.owner);
        let told = hang.wait.as_ref().and_then(|wait| wait.holder.as_ref());
        let holder = match told {
            Some(holder) if owner.is_none_or(|owner| owner.tid == holder.tid) => {
                Some(format!("\"{}\" (tid {}), {}", holder.name, holder.tid, doing(holder)))
            }
            _ => owner.map(|owner| format!("\"{}\"", thread_name(owner))),
        };
        sums.push(WaitSum {
            kind: waited.wait.kind,
            what,
            owner: holder,
            since: waited.since,
            count: 1,
            total,
            first: waited.wait,
        });
        if sums.len() >= MAX_WAIT_KINDS {
            break;
        }
    }
    sums
}
