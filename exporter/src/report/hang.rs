//! Finds the hang: the time range in which main did not respond.

use answers::answer::{CauseId, Observed, ShortCallSummary, Turns, WaitSum, of_recorded};
use answers::waited::Waited;
use trace_format::ReadError;
use trace_format::event::{CallId, Wait, WaitKind};

use super::history::EndedWait;
use super::owners::{self, Chain};
use super::question::{Asked, Question, middle};
use super::stretches::Sign;
use super::waits::{WaitFact, activity};
use super::walk::Walk;
use super::{Busy, OpenItem, OpenItemKind, Why};
use crate::facts::{Anr, Facts, MessageComponent, PolledCpu, Unit, UnitKind};
use crate::model::Names;
use crate::words::thread_name;

/// Maximum number of distinct wait targets of one message.
const MAX_WAIT_KINDS: usize = 256;

/// A time range in which the main thread did not respond.
#[derive(Clone, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct Hang {
    /// What main was in: its message, or a unit outside of messages, if known.
    pub unit: Option<Unit>,
    /// When it started.
    pub since: u64,
    /// When it ended, or the last moment of the recording.
    pub until: u64,
    /// Whether it ended; otherwise `until` is the end of the recording.
    pub ended: bool,
    /// The moment of `stack`: the last one, or the detection of the ANR if the hang ended.
    pub at: u64,
    /// The open items on main at that moment, outermost first.
    pub stack: Vec<OpenItem>,
    /// The component of the app that the message runs, if known.
    pub component: Option<MessageComponent>,
    /// The wait that main was in at that moment.
    pub wait: Option<WaitFact>,
    /// Who owned its lock at that moment, and who owned the lock that the owner waited for, and so on.
    pub(super) chain: Chain,
    /// Why the wait is not over, if steps of concurrent work were recorded.
    pub why: Option<Why>,
    /// Where main spent the time, if recorded.
    pub busy: Option<Busy>,
    /// How long coarse time stood still during it, ns: calls look short there, or are missing.
    pub standstill: u64,
    /// Main's CPU time meanwhile, if it was polled.
    pub cpu: Option<PolledCpu>,
    /// The ANR of this hang.
    pub anr: Option<Anr>,
    /// True if a dump has the thread computing: a wait around that is none.
    pub(super) computes: bool,
    /// The thread's turns before, if the hang is one that goes on and on.
    pub(super) turns: Option<Turns>,
}

impl Hang {
    /// The message that main was in, if any.
    #[must_use]
    pub fn message(&self) -> Option<&str> {
        self.unit.as_ref().and_then(Unit::message)
    }

    /// Its duration, as far as known.
    #[must_use]
    pub fn duration(&self) -> u64 {
        self.until.saturating_sub(self.since)
    }

    /// The method that main was in for nearly all of it, else the innermost open one.
    #[must_use]
    pub fn main_method(&self) -> Option<&OpenItem> {
        self.busy.as_ref().and_then(Busy::method).or_else(|| self.method())
    }

    /// Whether it started earlier than `since`.
    #[must_use]
    pub fn began_before(&self) -> bool {
        self.unit.as_ref().is_some_and(|unit| unit.began_before && unit.since == self.since)
    }

    /// The hang that is asked about, if there is one.
    pub(super) fn of(
        facts: &Facts<'_>,
        names: &Names<'_>,
        question: &Question<'_>,
    ) -> Result<Option<Self>, ReadError> {
        let Some(asked) = question.asked else { return Ok(None) };
        let (walk, end) = (&question.walk, question.end);
        let (since, at, until, ended) = match asked {
            Asked::Anr(anr) => match anr.recovered.or(walk.left.filter(|left| *left >= anr.detected)) {
                Some(ended) => (anr.since, anr.detected, ended, true),
                None => (anr.since, end, end, false),
            },
            Asked::Open(since) => (since, end, end, false),
            Asked::Ended(ended) => (ended.since, middle(ended), ended.until, true),
        };
        // If main recovered, what counts is what it did when the ANR was detected; else what it does at the end.
        let (stack, unit) = match walk.requested.as_ref().filter(|_| ended) {
            Some(stack) => (stack.clone(), walk.unit_at_request.clone()),
            None => (walk.snapshot(), walk.unit()),
        };
        // A call that stands for a message may be seen late: it has been open since it started.
        let stands = |unit: &&Unit| unit.kind == UnitKind::Call && !unit.began_before && walk.has_messages();
        let since = unit.as_ref().filter(stands).map_or(since, |unit| since.min(unit.since));
        let unit = unit.or_else(|| Unit::of_samples(facts.sections.samples.within(since, until)));
        let anr = if let Asked::Anr(anr) = asked { Some(anr.clone()) } else { None };
        let (computes, turns) = match question.sign {
            Some(Sign::Turn(turns)) => (true, Some(turns)),
            sign => (matches!(sign, Some(Sign::Computing | Sign::Works)), None),
        };
        let mut hang = Self { unit, since, until, ended, at, stack, anr, computes, turns, ..Self::default() };
        let innermost = hang.stack.last().filter(|_| !computes);
        if let Some((open, waits_for)) = innermost.and_then(|open| Some((open, open.wait?))) {
            let since = open.since;
            if let Some(thread) = question.thread {
                hang.chain = owners::chain(facts, names, thread, waits_for, at)?;
            }
            hang.wait = Some(WaitFact {
                kind: waits_for.kind,
                since,
                class: facts.text(waits_for.class),
                call: waits_for.call,
                lock: waits_for.lock,
                owner: hang.chain.first.take(),
            });
        }
        Ok(Some(hang))
    }

    /// Adds the hang to the facts for the rules.
    pub(super) fn observe(&self, facts: &mut Observed) {
        facts.hung = true;
        (facts.since, facts.noticed) = (self.since, self.at);
        facts.turns = self.turns;
        facts.message = self.unit.as_ref().map(|unit| unit.name.clone());
        let long = |since: u64| self.at.saturating_sub(since) >= self.at.saturating_sub(self.since) / 2;
        let methods = || self.stack.iter().rev().filter(|f| f.kind == OpenItemKind::Method);
        let busy = self.busy.as_ref();
        let method = methods().find(|f| long(f.since)).or_else(|| methods().next());
        let method = busy.and_then(Busy::method).or(method);
        facts.method = method.map(|f| (f.name.clone(), f.since));
        facts.callee = busy.and_then(Busy::callee);
        facts.standstill = self.standstill;
        let first = self.why.as_ref().and_then(|why| why.links.first());
        let coroutine = first.filter(|link| link.waits_for == "coroutine");
        facts.run_blocking =
            coroutine.map(|link| match link.task.as_ref().and_then(|task| task.suspended_at) {
                Some("Mutex") => CauseId::LockWait,
                Some("Semaphore") => CauseId::PermitWait,
                Some("Channel") => CauseId::FutureWait,
                _ => CauseId::RunBlocking,
            });
        // Of a lock's owner the chain says why it waits; only a cycle is what the lock waits for.
        let is_lock = self.wait.as_ref().is_some_and(|wait| wait.kind == WaitKind::Monitor);
        let named = self.why.as_ref().filter(|why| why.cycle || !is_lock);
        facts.chain = named.and_then(|why| Some((why.cause?.cause_id()?, why.text.clone())));
        facts.short = busy.filter(|busy| busy.short_calls > 0).map(|busy| ShortCallSummary {
            calls: busy.short_calls,
            last: busy.counted,
            hot: busy.hot.first().cloned(),
        });
        // In a loop, the calls that were open throughout show the place; what was open at the last moment is
        // random.
        let chain = busy.map(|busy| &busy.chain[..]).filter(|chain| self.wait.is_none() && !chain.is_empty());
        facts.recorded = owners::lines(chain.unwrap_or(&self.stack), self.at);
    }

    /// The innermost open method.
    #[must_use]
    pub fn method(&self) -> Option<&OpenItem> {
        self.stack.iter().rev().find(|f| f.kind == OpenItemKind::Method)
    }
}

/// The waits of the message that hung, by kind and target.
pub(super) fn wait_sums(facts: &Facts<'_>, names: &Names<'_>, walk: &Walk<'_>, hang: &Hang) -> Vec<WaitSum> {
    let mut sums: Vec<WaitSum> = Vec::new();
    let is_around = |waited: &EndedWait| hang.computes && waited.since <= hang.since;
    for waited in walk.history.waits(hang.at).filter(|w| w.end > hang.since && !is_around(w)) {
        let class = facts.text(waited.wait.class);
        let Wait { kind, call, .. } = waited.wait;
        let cause = of_recorded(Waited { kind, call, class: class.as_deref() });
        let method = waited.method.map(|method| names.method(method).into_owned());
        let total = waited.end.saturating_sub(waited.since.max(hang.since));
        let same = |sum: &&mut WaitSum| (sum.kind, sum.cause) == (kind, cause) && sum.class == class;
        if let Some(sum) = sums.iter_mut().find(same) {
            sum.call = if sum.call == call { call } else { CallId(0) };
            sum.count += 1;
            sum.method = sum.method.take().filter(|known| method.as_ref() == Some(known));
            sum.total = sum.total.saturating_add(total);
            continue;
        }
        let owner = facts.thread(waited.wait.owner);
        let owner = match hang.wait.as_ref().and_then(|wait| wait.owner.as_ref()) {
            Some(known) if owner.is_none_or(|owner| owner.tid == known.tid) => {
                Some(format!("\"{}\" (tid {}), {}", known.name, known.tid, activity(known)))
            }
            _ => owner.map(|owner| format!("\"{}\"", thread_name(owner))),
        };
        sums.push(WaitSum {
            kind,
            class,
            call,
            cause,
            owner,
            method,
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
