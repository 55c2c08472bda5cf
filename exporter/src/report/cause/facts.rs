//! What is known of a hang, in the terms of the table.

use std::collections::HashMap;
use std::path::Path;

use trace_format::event::{Clocks, Usage};
use trace_format::{ReadError, Source};

use super::dumped::Dumped;
use super::kind::CauseKind;
use crate::dump::{AnrKind, Dump, Subject};
use crate::facts::Sample;
use crate::model::is_method_number;
use crate::report::frame::FrameKind;
use crate::report::hang::Hang;
use crate::report::history::Before;
use crate::report::place::{Doing, doing, is_own, parts};
use crate::report::unit::Unit;
use crate::report::waits::WaitSum;
use crate::report::words::{about, seconds};

/// A fact that speaks for a cause.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// When it was so, BOOTTIME ns, where it is of a moment.
    pub at: Option<u64>,
    /// In words.
    pub text: String,
}

impl Evidence {
    pub(super) fn new(at: u64, text: String) -> Self {
        Self { at: (at > 0).then_some(at), text }
    }
}

/// What samples of main's stack show.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Sampled {
    pub(super) samples: u64,
    /// How many were at such a place.
    pub(super) doing: Vec<(Doing, u64)>,
    /// The innermost method at the most frequent of these places.
    pub(super) top: Option<String>,
    /// The app's own method that is in most of them, the innermost of equals.
    pub(super) own: Option<(String, u64)>,
}

/// Looks at what main used of the processor.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Looks {
    pub(super) ran: u64,
    pub(super) waited: u64,
    pub(super) looked: u64,
    /// How much of that ended with main in uninterruptible sleep.
    pub(super) uninterruptible: u64,
    /// The longest time between two looks in which main neither ran nor waited: when it began, and how long it was.
    pub(super) gap: (u64, u64),
}

/// Calls that were too short to be recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Short {
    pub(super) calls: u64,
    /// When the last of them were counted.
    pub(super) last: u64,
    /// Whose most were, and their share in percent.
    pub(super) hot: Option<(String, u64)>,
}

/// What is known.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Facts {
    /// When somebody noticed, or the last moment.
    pub(super) asked: u64,
    /// Begin of the hang; `asked` if main did not hang.
    pub(super) since: u64,
    /// Whether there is a hang at all, and whether an ANR.
    pub(super) hung: bool,
    pub(super) anr: bool,
    /// Why the process said that it was somebody else's ANR.
    pub(super) others: Option<(u64, String)>,
    /// What main was in, in the hang.
    pub(super) message: Option<String>,
    /// What main was in when the system asked, by the recording or by samples of its stack; nothing if it polled.
    open: Option<Unit>,
    /// The innermost recorded method that was open for half of the hang, and since when.
    pub(super) method: Option<(String, u64)>,
    /// Calls of main's in the hang that were too short to be recorded.
    pub(super) short: Option<Short>,
    /// How much of the hang coarse time stood still, ns.
    standstill: u64,
    /// Events of main's in the hang, and when the last one was.
    pub(super) events: (u64, u64),
    pub(super) waits: Vec<WaitSum>,
    pub(super) looks: Looks,
    /// How long the device slept in the hang, ns.
    pub(super) slept: u64,
    /// The five seconds before somebody noticed.
    pub(super) before: Before,
    pub(super) dump: Option<(u64, Dumped)>,
    pub(super) sampled: Sampled,
    /// The scheduler's group of the process.
    pub(super) cgroup: Option<String>,
    /// What the system said that it had waited for.
    subject: Option<Subject>,
}

/// Whether `part` is at least half of `whole`, of numbers that a file may have made large.
pub(super) fn is_half(part: u64, whole: u64) -> bool {
    part >= whole.div_ceil(2)
}

/// A sum of looks at main.
fn looks(usage: &[(u64, Usage)], from: u64, to: u64) -> Looks {
    let mut sum = Looks::default();
    let within = usage.iter().filter(|(at, _)| (from..=to).contains(at));
    for pair in within.collect::<Vec<_>>().windows(2) {
        let [(begin, a), (end, b)] = pair else { continue };
        let looked = end.saturating_sub(*begin);
        let (ran, waited) = (b.ran.saturating_sub(a.ran), b.waited.saturating_sub(a.waited));
        sum.ran = sum.ran.saturating_add(ran);
        sum.waited = sum.waited.saturating_add(waited);
        sum.looked = sum.looked.saturating_add(looked);
        if b.state == b'D' {
            sum.uninterruptible = sum.uninterruptible.saturating_add(looked);
        }
        let still = looked.saturating_sub(ran).saturating_sub(waited);
        // Whoever is frozen neither sleeps nor runs, and nobody looks either.
        if b.state == b'R' && still > sum.gap.1 {
            sum.gap = (*begin, still);
        }
    }
    sum
}

/// How long the device slept between two moments: BOOTTIME goes on, MONOTONIC does not.
fn slept(clocks: &[Clocks], from: u64, to: u64) -> u64 {
    let ahead = |c: &Clocks| c.boottime.saturating_sub(c.monotonic);
    let before = clocks.iter().filter(|c| c.boottime <= from).map(ahead).next_back();
    let within = clocks.iter().filter(|c| (from..=to).contains(&c.boottime));
    let (mut least, mut most) = (before, before);
    for clock in within {
        least = Some(least.map_or(ahead(clock), |l| l.min(ahead(clock))));
        most = Some(most.map_or(ahead(clock), |m| m.max(ahead(clock))));
    }
    most.unwrap_or(0) - least.unwrap_or(0)
}

fn sampled<'a>(samples: impl Iterator<Item = Sample<'a>>) -> Sampled {
    let mut found = Sampled::default();
    let mut by_place: HashMap<String, (Doing, u64)> = HashMap::new();
    let mut own: HashMap<&str, (u64, u64)> = HashMap::new();
    for sample in samples {
        found.samples += 1;
        let frames = || sample.frames().map(|line| line.split_once('(').unwrap_or((line, "")));
        if let Some((name, place)) = frames().next() {
            let (class, method) = parts(name);
            let entry = by_place
                .entry(name.to_owned())
                .or_insert((doing(class, method, place.starts_with("Native")), 0));
            entry.1 += 1;
        }
        let mut seen: Vec<&str> = Vec::new();
        for (depth, (name, _)) in frames().enumerate() {
            if is_own(parts(name).0) && !seen.contains(&name) && seen.len() < 64 {
                seen.push(name);
                let entry = own.entry(name).or_insert((0, 0));
                *entry = (entry.0 + 1, entry.1 + depth as u64);
            }
        }
    }
    for (doing, count) in by_place.values() {
        match found.doing.iter_mut().find(|(known, _)| known == doing) {
            Some((_, sum)) => *sum += count,
            None => found.doing.push((*doing, *count)),
        }
    }
    found.doing.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut tops: Vec<_> = by_place.into_iter().collect();
    tops.sort_by(|(a, (_, n)), (b, (_, m))| m.cmp(n).then(a.cmp(b)));
    found.top = tops.into_iter().next().map(|(name, _)| name);
    // In most samples, and of those the innermost.
    let best = own.iter().max_by_key(|(name, (count, depth))| (*count, std::cmp::Reverse((*depth, **name))));
    found.own = best.map(|(name, (count, _))| ((*name).to_owned(), *count));
    found
}

impl Facts {
    /// What a thread dump alone tells of the process `pid`, or of the first one that has a main thread.
    #[must_use]
    pub fn of_dump(dump: &Dump, pid: Option<u32>) -> Self {
        let dump = Dumped::of(dump, pid).map(|dumped| (0, dumped));
        Self { hung: true, anr: true, dump, ..Self::default() }
    }

    /// Nothing but when somebody noticed, and that.
    pub(in crate::report) fn new(asked: u64, anr: bool, others: Option<(u64, String)>) -> Self {
        Self { asked, since: asked, anr, others, ..Self::default() }
    }

    /// With what is open on main when somebody asked.
    pub(in crate::report) fn set_hang(&mut self, hang: &Hang) {
        self.hung = true;
        (self.since, self.asked) = (hang.since, hang.at);
        self.message = hang.unit.as_ref().map(|unit| unit.name.clone());
        let long = |since: u64| hang.at.saturating_sub(since) >= hang.at.saturating_sub(hang.since) / 2;
        let methods = || hang.stack.iter().rev().filter(|f| f.kind == FrameKind::Method);
        let busy = hang.busy.as_ref();
        let method = methods().find(|f| long(f.since)).or_else(|| methods().next());
        let method = busy.and_then(|busy| busy.method()).or(method);
        self.method = method.map(|f| (f.name.clone(), f.since));
        self.standstill = hang.standstill;
        self.short = busy.filter(|busy| busy.short_calls > 0).map(|busy| Short {
            calls: busy.short_calls,
            last: busy.counted,
            hot: busy.hot.first().cloned(),
        });
    }

    /// With the waits of the message that hung.
    pub(in crate::report) fn set_waits(&mut self, waits: Vec<WaitSum>) {
        self.waits = waits;
    }

    /// With what main was in when the system asked.
    pub(in crate::report) fn set_unit(&mut self, unit: Option<Unit>) {
        self.open = unit;
    }

    /// With what ran in the seconds before.
    pub(in crate::report) fn set_before(&mut self, before: Before) {
        self.before = before;
    }

    /// With how many events the open message has, and when the last one was.
    pub(in crate::report) fn set_events(&mut self, events: u64, last: u64) {
        self.events = (events, last);
    }

    /// With the looks at main, and how long the device slept, until `until`.
    pub(in crate::report) fn set_looks(&mut self, usage: &[(u64, Usage)], until: u64) {
        self.looks = looks(usage, self.since, until);
    }

    /// With the clocks that were read.
    pub(in crate::report) fn set_slept(&mut self, clocks: &[Clocks], until: u64) {
        self.slept = slept(clocks, self.since, until);
    }

    /// With what the monitors and the system left until `until`.
    ///
    /// # Errors
    /// If the device fails.
    pub(in crate::report) fn set_left<S: Source>(
        &mut self,
        facts: &crate::facts::Facts<'_, S>,
        until: u64,
    ) -> Result<(), ReadError> {
        let sections = &facts.sections;
        self.sampled = sampled(sections.samples.within(self.since, until));
        self.cgroup = sections.snapshot(self.since, until).and_then(|snapshot| snapshot.cgroup.clone());
        if self.open.is_none() {
            self.open = Unit::seen_at(sections, self.asked);
        }
        let pid = Some(facts.recording.header().pid).filter(|pid| *pid > 0);
        // A dump is written after it was asked for, and tells of that moment.
        for dump in facts.dumps() {
            let (at, dump) = dump?;
            if (self.since..=until).contains(&at) && self.set_dump(at, &dump, pid) {
                return Ok(());
            }
        }
        for exit in facts.exits().take(if self.anr { usize::MAX } else { 0 }) {
            let Ok(dump) = Dump::read(Path::new("exit"), &exit?.text[..]) else { continue };
            if self.set_dump(0, &dump, pid) {
                break;
            }
        }
        Ok(())
    }

    /// With a dump, if it tells of main.
    fn set_dump(&mut self, at: u64, dump: &Dump, pid: Option<u32>) -> bool {
        if let Some(subject) = &dump.subject {
            self.subject.get_or_insert_with(|| subject.clone());
        }
        self.dump = Dumped::of(dump, pid).map(|dumped| (at, dumped));
        self.dump.is_some()
    }

    pub(super) fn duration(&self) -> u64 {
        self.asked.saturating_sub(self.since)
    }

    /// The longest sum of waits of these kinds, if it is at least half of the hang.
    pub(super) fn mostly_waited(&self, fits: impl Fn(&WaitSum) -> bool) -> Option<&WaitSum> {
        let longest = self.waits.iter().filter(|sum| fits(sum)).max_by_key(|sum| sum.total)?;
        (longest.total > 0 && is_half(longest.total, self.duration())).then_some(longest)
    }

    /// What half of the samples, or the dump, show main doing.
    pub(super) fn seen_doing(&self, what: Doing) -> Option<Evidence> {
        let Sampled { samples, doing, top, .. } = &self.sampled;
        if *samples > 0 {
            let count = doing.iter().find(|(doing, _)| *doing == what).map_or(0, |(_, count)| *count);
            let top = top.as_deref().unwrap_or("?");
            return (is_half(count, *samples)).then(|| {
                Evidence::new(0, format!("{count} of {samples} samples of main's stack are in {top}"))
            });
        }
        let (at, dump) = self.dump.as_ref().filter(|(_, dump)| dump.doing == Some(what))?;
        let state = if dump.state.is_empty() { "" } else { &dump.state };
        let place = dump.top.as_deref().or(dump.native.as_deref()).unwrap_or("?");
        Some(Evidence::new(*at, format!("the dump shows main {state} in {place}")))
    }

    /// What main was in, in words.
    pub(super) fn was_in(&self) -> Option<Evidence> {
        let (name, since) = self.method.as_ref()?;
        let took = seconds(self.asked.saturating_sub(*since));
        Some(Evidence::new(*since, format!("{name} was open for {took}")))
    }

    /// What main called too briefly to be recorded, in words.
    pub(super) fn short_calls(&self) -> Option<Evidence> {
        let Short { calls, hot, .. } = self.short.as_ref()?;
        let calls = about(*calls);
        let text = match hot {
            Some((name, percent)) => {
                format!("{percent} % of about {calls} calls too short to record were {name}")
            }
            None => format!("about {calls} calls were too short to record"),
        };
        Some(Evidence::new(0, text))
    }

    /// What main used of the processor, in words.
    pub(super) fn used(&self) -> Option<Evidence> {
        let Looks { ran, waited, looked, .. } = self.looks;
        let text = format!(
            "of {} looked at main ran {} and waited {} for a processor",
            seconds(looked),
            seconds(ran),
            seconds(waited)
        );
        (looked > 0).then(|| Evidence::new(0, text))
    }

    /// What the system waited for, where it said so.
    pub(super) fn component(&self) -> Option<AnrKind> {
        self.subject.as_ref().map(|subject| subject.kind)
    }

    /// What reports of this cause are grouped by. A name is preferred to a method's number, which another build gives to another method.
    pub(super) fn root(&self, cause: CauseKind) -> Option<String> {
        let recorded = self.method.as_ref().map(|(name, _)| name.clone());
        let (named, numbered) = match recorded {
            Some(name) if is_method_number(&name) => (None, Some(name)),
            recorded => (recorded, None),
        };
        let sampled = self.sampled.own.as_ref().map(|(name, _)| name.clone());
        let dumped = self.dump.as_ref().and_then(|(_, d)| d.own.clone().or_else(|| d.top.clone()));
        let method = || named.or(sampled).or(dumped).or(numbered);
        match cause {
            CauseKind::MessageStorm => self.before.kinds.first().map(|kind| kind.name.clone()),
            CauseKind::SomebodyElses => None,
            CauseKind::FrozenProcess => self.message.clone(),
            _ => method().or_else(|| self.message.clone()),
        }
    }

    /// The lock that the dump has main waiting for, and who holds it.
    pub(super) fn dumped_wait(&self) -> Option<String> {
        let (_, dump) = self.dump.as_ref()?;
        let (class, holder) = dump.lock.as_ref()?;
        let class = class.as_deref().unwrap_or("an object of unknown class");
        let holder = holder.as_ref().map_or_else(String::new, |holder| format!(", held by {holder}"));
        Some(format!("the lock of {class}{holder}"))
    }

    /// Whether main had nothing to do when the system asked. It had where a call was open, or a sample is not of the poll.
    pub(super) fn main_was_idle(&self) -> bool {
        let idle = self.dump.as_ref().is_some_and(|(_, dump)| dump.doing == Some(Doing::Idle));
        let little = self.before.busy < self.before.to.saturating_sub(self.before.from) / 5;
        // Nothing says that nothing ran while time stood still.
        (self.hung || self.anr)
            && self.open.is_none()
            && self.standstill == 0
            && (idle || !self.hung && little)
    }

    /// What the system had waited for, in its words.
    pub(super) fn asked_for(&self) -> Option<Evidence> {
        let subject = self.subject.as_ref()?;
        Some(Evidence::new(0, format!("the system's subject: {}", subject.text)))
    }

    /// Why nothing can be said.
    pub(super) fn what_is_missing(&self) -> Vec<Evidence> {
        let mut told = Vec::new();
        let mut say = |text: &str| told.push(Evidence::new(0, text.to_owned()));
        if !self.hung && !self.anr {
            say("nothing hung");
        } else if self.main_was_idle() {
            say(
                "main had nothing to do when the system asked: it had gone on, or it was not main that was waited for",
            );
        } else {
            if let Some(open) = self.open.as_ref().filter(|_| !self.hung) {
                say(&format!("main was in {} when the system asked", open.name));
            }
            match (&self.method, self.standstill) {
                (Some(_), _) => {}
                (None, 0) => say("no instrumented method was open"),
                (None, still) => say(&format!(
                    "coarse time stood still for {}: what main called meanwhile is not recorded",
                    seconds(still)
                )),
            }
            if self.looks.looked == 0 {
                say("nobody looked whether main ran");
            }
            if self.dump.is_none() && self.sampled.samples == 0 {
                say("there is neither a dump nor a sample of main's stack");
            }
        }
        told.extend(self.used());
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_is_a_name_if_there_is_one_and_else_the_methods_number() {
        let root = |method: &str, sampled: Option<&str>| {
            let own = sampled.map(|name| (name.to_owned(), 7));
            let sampled = Sampled { own, ..Sampled::default() };
            let facts = Facts { method: Some((method.to_owned(), 0)), sampled, ..Facts::default() };
            facts.root(CauseKind::BusyMethod).unwrap()
        };
        assert_eq!(root("com.acme.Feed.parse", Some("com.acme.Feed.next")), "com.acme.Feed.parse");
        assert_eq!(root("method 43", Some("com.acme.Feed.next")), "com.acme.Feed.next");
        assert_eq!(root("method 43", None), "method 43");
        assert_eq!(root("method of.mine", Some("com.acme.Feed.next")), "method of.mine");
    }
}
