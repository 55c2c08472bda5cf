//! The strongest stall of a program without messages: which thread hung, and when.
//!
//! Android asks about main's message. A program on a JVM has none, and its `main` lasts as long as the program. Its unit is a
//! *stretch* of a thread without progress, as long as [`MIN_ENDED_HANG`] or longer. Four sources know of one:
//!
//! * The record: something is open on the thread, and the thread records nothing, neither a call nor a count of short ones.
//! * The record of main's waits: one for the same lock follows the other, with next to nothing between them.
//! * The record of earlier calls: a call lasts many times longer than nearly all calls of the same method ([`Usual`]), and within
//!   it the thread calls and waits again and again.
//! * A dump of the JVM agent: samples of the stack are equal up to a method in which the thread computes, although it calls
//!   others. That lasts as long as the innermost recorded call around it. (Equal samples of a thread that waits prove nothing: a
//!   healthy loop waits at one place again and again.)
//!
//! A healthy thread has stretches too, when there is nothing to do. What a thread waits for says which of them are a hang
//! ([`Due`]): by a dump of that time, or else by the recorded wait. Where neither says it, a call that usually is short decides.
//!
//! Of several stretches the report is about the thread with the strongest [`Claim`], by the same table as for a dump; of
//! equals about one that is open at the end, then about one that is no daemon, and then about the longest.

use std::cmp::Reverse;

use answers::answer::{
    CauseId, Claim, Claims, Due, FrameView, SystemShare, due_to_dumped, due_to_recorded, is_ending, is_own,
    keeps_alive, of_recorded, seen, ticks,
};
use answers::dump::{self, LockKind, LockLine, Section};
use answers::waited::Waited;
use trace_format::event::{Wait, WaitKind, types};
use trace_format::{ReadError, Thread, ids};

use super::idle::Idle;
use super::rests::{Rest, rest};
use super::sources::Sources;
use super::stretches::{Sign, Stretch, Usual, computing, in_order, recorded};
use super::{MIN_ENDED_HANG, WhyCause};
use crate::facts::{Change, Open, Payload, typed};
use crate::model::owner;
use crate::words::thread_name;

/// Another thread works beside a wait if it records something this long after the wait began and before it ended, ns.
const BESIDE: u64 = 1_000_000_000;
/// A sleep of main within so many calls that usually are short, one in the other, is a hang: a round of a loop may
/// sleep if it finds no work, but not what such a round calls. Of other threads, which wait for work deeper in calls,
/// one more.
const LEAST_UNUSUAL: usize = 2;
const LEAST_UNUSUAL_OF_OTHERS: usize = 3;

/// A thread that hung, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stall<'t> {
    pub(super) thread: &'t Thread,
    pub(super) stretch: Stretch,
}

/// The least is asked about: by its claim, open at the end before ended, a daemon, which serves others, last, the longest first.
type Order = (Claim, bool, bool, Reverse<u64>);

/// The strongest stall, and the longest stretch that was taken for idle.
pub(super) type Found<'t> = (Option<Stall<'t>>, Option<Idle>);

impl<'t> Stall<'t> {
    /// The question of a program whose recording ends at `end`; no stall if nothing hung.
    pub(super) fn of(sources: &Sources<'t>, end: u64) -> Result<Found<'t>, ReadError> {
        let facts = sources.facts;
        let dumps = &facts.sections.dumps;
        let mut usual = Usual::default();
        let mut all: Vec<(&'t Thread, Vec<Stretch>)> = Vec::new();
        for thread in facts.recording.threads() {
            let mut found = recorded(facts, thread, end, &mut usual)?;
            found.extend(computing(facts, thread, dumps, end)?);
            let pauses = facts.recorder.pauses();
            let is_paused = |stretch: &Stretch| {
                pauses.iter().any(|pause| {
                    pause.begin < stretch.until && pause.end.is_none_or(|end| end > stretch.since)
                })
            };
            found.retain(|stretch| !is_paused(stretch));
            // Of calls within each other the innermost one is judged first.
            found.sort_by_key(|stretch| Reverse(stretch.since));
            all.push((thread, found));
        }
        let mains = MainsWait::of(sources, &all)?;
        let claims = dumps.iter().filter_map(|(at, dump)| Some((*at, dump.answer()?.claims()))).collect();
        let judge = Judge { sources, claims, usual: &usual, mains, end };
        let mut best: Option<(Order, Self)> = None;
        let mut idle: Option<(&Thread, Stretch)> = None;
        for &(thread, ref found) in &all {
            let mut known: Vec<Stretch> = Vec::new();
            let has_long_calls = found.iter().any(|stretch| stretch.sign == Sign::LongCall);
            for &stretch in found {
                let Stretch { since, until, ended, sign, .. } = stretch;
                // The wait within a long call is the hang, or what it rests in.
                let is_known = |inner: &Stretch| inner.until > since && inner.took() >= stretch.took() / 2;
                if sign == Sign::LongCall && known.iter().any(is_known) {
                    continue;
                }
                let Some(Judged { claim, since, daemon }) = judge.claim(thread, &stretch)? else {
                    if has_long_calls && judge.rests(thread, &stretch)? {
                        known.push(stretch);
                    }
                    if idle.is_none_or(|(_, longest)| longest.took() < stretch.took())
                        && judge.is_idle(thread, &stretch)
                    {
                        idle = Some((thread, stretch));
                    }
                    continue;
                };
                if until.saturating_sub(since) < MIN_ENDED_HANG {
                    continue;
                }
                known.push(stretch);
                let order = (claim, ended, daemon, Reverse(until - since));
                if best.as_ref().is_none_or(|(known, _)| order < *known) {
                    best = Some((order, Self { thread, stretch: Stretch { since, ..stretch } }));
                }
            }
        }
        let idle = idle.map(|(thread, stretch)| judge.idle_thread(thread, &stretch));
        let best = best.map(|(_, stall)| stall.holder(sources, &all)).transpose()?;
        Ok((best, idle))
    }

    /// Of threads that wait for each other the one that owns a lock and waits for something else; for other hangs itself. For
    /// example, a thread joins a worker that wants its lock.
    fn holder(self, sources: &Sources<'t>, all: &[(&'t Thread, Vec<Stretch>)]) -> Result<Self, ReadError> {
        let moment = self.stretch.moment();
        let why = sources.chains(moment)?.why(self.thread)?.filter(|why| why.cycle);
        let holder = why.and_then(|why| why.links.into_iter().find(|link| !link.is_for_lock()));
        let stretches = holder.and_then(|link| all.iter().find(|(thread, _)| thread.tid == link.tid));
        let Some((thread, found)) = stretches.filter(|(thread, _)| thread.uid != self.thread.uid) else {
            return Ok(self);
        };
        let at_that_time = found.iter().filter(|stretch| (stretch.since..=stretch.until).contains(&moment));
        let innermost = at_that_time.min_by_key(|stretch| stretch.took());
        Ok(innermost.map_or(self, |stretch| Self { thread, stretch: *stretch }))
    }
}

/// A stretch that is a hang.
struct Judged {
    claim: Claim,
    /// The begin of the hang. If other threads have to end it, that is when the last of them stops.
    since: u64,
    daemon: bool,
}

/// Main's wait in the longest of its stretches.
struct MainsWait {
    kind: WaitKind,
    /// The kernel id of the thread that has to end it, by the recorded steps of concurrent work.
    ender: Option<u32>,
}

impl MainsWait {
    fn of(sources: &Sources<'_>, all: &[(&Thread, Vec<Stretch>)]) -> Result<Option<Self>, ReadError> {
        let of_main = all.iter().filter(|(thread, _)| thread.main);
        let waits = of_main.flat_map(|(main, found)| {
            found.iter().filter_map(|stretch| match stretch.sign {
                Sign::Still(Some(wait)) => Some((*main, stretch, wait.kind)),
                _ => None,
            })
        });
        let Some((main, stretch, kind)) = waits.max_by_key(|(_, stretch, _)| stretch.took()) else {
            return Ok(None);
        };
        let why = sources.chains(stretch.moment())?.why(main)?;
        let ender = why.and_then(|why| why.giver());
        Ok(Some(Self { kind, ender }))
    }
}

/// The evidence by which stretches are judged.
struct Judge<'a, 't> {
    sources: &'a Sources<'t>,
    /// The claims of the threads in each dump, with its time.
    claims: Vec<(u64, Claims<'a>)>,
    usual: &'a Usual,
    mains: Option<MainsWait>,
    /// The last moment of the recording.
    end: u64,
}

impl Judge<'_, '_> {
    /// The claim of a stretch to be the hang; `None` if it is none.
    fn claim(&self, thread: &Thread, stretch: &Stretch) -> Result<Option<Judged>, ReadError> {
        let place = self.dumped(thread, stretch);
        let daemon = place.is_some_and(|(_, dumped)| dumped.daemon);
        let judged = |claim| Ok(Some(Judged { claim, since: stretch.since, daemon }));
        let serves = place.is_some_and(|(dump, dumped)| dump.section.serves_beside(dumped));
        let of_dump = place.and_then(|(dump, dumped)| dump.claim(dumped));
        let dumped = place.map(|(_, dumped)| dumped);
        let is_joined = self.is_joined(thread, place);
        let owed = match (of_dump, thread.main, stretch.sign) {
            // Main hangs as long as the thread that it joins, or that has to give the result and is held up itself.
            (Some(Claim::Reads(_) | Claim::WaitsInTask | Claim::Waits), ..) if is_joined => Claim::HeldUp,
            (_, true, Sign::Still(Some(wait)))
                if self.has_ender() && wait.kind == WaitKind::Join
                    || !self.is_lock(&wait) && self.ender_is_held_up(stretch) =>
            {
                Claim::Idle(Reverse(0))
            }
            (
                None | Some(Claim::MainHeldUp | Claim::MainsResult | Claim::MainWaits | Claim::MainStays),
                true,
                Sign::Still(Some(_)),
            ) if self.has_ender() => Claim::MainBlocked,
            (Some(claim), _, Sign::Still(_) | Sign::Computing) => claim,
            (_, true, Sign::Still(Some(wait)) | Sign::Convoy(wait)) if self.is_lock(&wait) => {
                Claim::MainBlocked
            }
            (_, true, _) => Claim::MainHeldUp,
            (_, false, Sign::Still(Some(wait))) if self.is_lock(&wait) => Claim::Lock(Reverse(0)),
            _ => Claim::HeldUp,
        };
        let is_of_library = !thread.main && !self.is_in_program(stretch, place);
        // A thread that runs no code of the program waits for one that does.
        let is_of_jdk = !thread.main && place.is_some() && of_dump.is_none();
        if is_of_jdk || is_of_library && stretch.sign == Sign::LongCall {
            return Ok(None);
        }
        let is_unusual = || self.usual.is_unusual(stretch);
        let is_starved = || {
            // A program of one thread has others put what it takes, in another process.
            let is_still =
                matches!(stretch.sign, Sign::Still(_)) && self.sources.facts.recording.threads().len() > 1;
            is_still && place.is_some_and(|(dump, dumped)| dump.section.is_starved(dumped))
        };
        let least_unusual = if thread.main || is_joined { LEAST_UNUSUAL } else { LEAST_UNUSUAL_OF_OTHERS };
        match self.due(thread, stretch, dumped)? {
            Due::Owed => judged(owed),
            Due::Unknown | Due::Result
                if place.is_some_and(|(dump, dumped)| dump.is_surely_stuck(dumped)) =>
            {
                judged(owed)
            }
            Due::Nothing | Due::Unknown if is_starved() => judged(Claim::Waits),
            Due::Nothing if self.unusual_around_sleep(thread, stretch)? >= least_unusual => {
                judged(Claim::HeldUp)
            }
            Due::Nothing if is_unusual() && rest(self.sources.facts, thread, stretch)? == Rest::Elsewhere => {
                judged(Claim::HeldUp)
            }
            Due::Nothing => Ok(None),
            Due::Unknown if is_of_library || self.waited_for_the_end(stretch) => Ok(None),
            Due::Unknown if !is_joined && self.rests(thread, stretch)? => Ok(None),
            Due::Unknown | Due::Result if is_unusual() => judged(owed),
            Due::Unknown if !thread.main && !is_joined => {
                if self.is_left_alone(thread, stretch)? {
                    judged(Claim::Waits)
                } else {
                    Ok(None)
                }
            }
            Due::Unknown | Due::Result if serves => Ok(None),
            Due::Unknown | Due::Result => {
                let is_waiting = |dumped: &dump::Thread| {
                    dumped.state.as_deref().is_some_and(|state| state.starts_with("WAITING"))
                };
                let waits_deep = of_dump == Some(Claim::MainWaits) && dumped.is_some_and(is_waiting);
                let since = self.alone_since(thread, stretch, waits_deep)?;
                Ok(Some(Judged { claim: owed, since, daemon }))
            }
        }
    }

    /// True if another thread than main waits where it waits as a rule.
    fn rests(&self, thread: &Thread, stretch: &Stretch) -> Result<bool, ReadError> {
        let waits = !thread.main && matches!(stretch.sign, Sign::Still(Some(_)));
        Ok(waits && rest(self.sources.facts, thread, stretch)? == Rest::Here)
    }

    /// The number of calls around a sleep that usually are short.
    fn unusual_around_sleep(&self, thread: &Thread, stretch: &Stretch) -> Result<usize, ReadError> {
        let mut unusual = 0;
        if matches!(stretch.sign, Sign::Still(Some(wait)) if wait.kind == WaitKind::Sleep) {
            self.sources.facts.spans(thread).open_at([stretch.moment()], |_, open| {
                let calls = open.frames().iter().filter(|call| ids::is_method(call.key));
                let is_unusual = |call: &&Open| self.usual.is_unusual_call((call.key, call.begun), stretch);
                unusual = calls.filter(is_unusual).count();
            })?;
        }
        Ok(unusual)
    }

    /// True if all that could end the thread's wait is over, by the recorded steps of concurrent work.
    fn is_left_alone(&self, thread: &Thread, stretch: &Stretch) -> Result<bool, ReadError> {
        let why = self.sources.chains(stretch.moment())?.why(thread)?;
        Ok(why.is_some_and(|why| why.cause == Some(WhyCause::LatchNeverCountedDown)))
    }

    /// True if main waits for the end of this thread.
    fn is_joined(&self, thread: &Thread, place: Option<(&Claims<'_>, &dump::Thread)>) -> bool {
        match &self.mains {
            Some(MainsWait { kind: WaitKind::Join, ender: Some(tid) }) => *tid == thread.tid,
            _ => place.is_some_and(|(dump, dumped)| dump.is_joined(dumped)),
        }
    }

    /// True if it is known which thread has to end main's wait.
    fn has_ender(&self) -> bool {
        self.mains.as_ref().is_some_and(|wait| wait.ender.is_some())
    }

    /// True if by a dump that thread computes, or the end of another wait is owed to it.
    fn ender_is_held_up(&self, stretch: &Stretch) -> bool {
        let ender = self.mains.as_ref().and_then(|wait| wait.ender);
        let ender = self.sources.facts.recording.threads().iter().find(|thread| Some(thread.tid) == ender);
        let place = ender.and_then(|ender| self.dumped(ender, stretch));
        place.is_some_and(|(dump, dumped)| dump.is_held_up(dumped))
    }

    /// True if the wait ended when a signal ended the process: main waited for that, as a program does that serves.
    fn waited_for_the_end(&self, stretch: &Stretch) -> bool {
        let is_late = |at: u64| stretch.until.abs_diff(at) < BESIDE;
        stretch.ended && is_late(self.end) && self.claims.last().is_some_and(|(at, _)| is_late(*at))
    }

    fn is_lock(&self, wait: &Wait) -> bool {
        of_recorded(self.waited(wait)) == CauseId::LockWait
    }

    /// True for a thread of the program that a page may call idle, because its stretch is no hang.
    fn is_idle(&self, thread: &Thread, stretch: &Stretch) -> bool {
        let is_still = matches!(stretch.sign, Sign::Still(_));
        is_still && (thread.main || self.is_in_program(stretch, self.dumped(thread, stretch)))
    }

    fn idle_thread(&self, thread: &Thread, stretch: &Stretch) -> Idle {
        let wait = match stretch.sign {
            Sign::Still(Some(wait)) => Some(self.waited(&wait).words(0)),
            _ => None,
        };
        let method = stretch.call.map(|(method, _)| self.sources.names.method(method).into_owned());
        Idle { thread: thread_name(thread), since: stretch.since, duration: stretch.took(), wait, method }
    }

    /// The time from which on no other thread works, in a stretch whose end others have to bring.
    /// A daemon that only sleeps again and again ends no wait of a main that is deep in its work.
    fn alone_since(&self, thread: &Thread, stretch: &Stretch, waits_deep: bool) -> Result<u64, ReadError> {
        let mut since = stretch.since;
        let only_ticks =
            |other: &Thread| self.dumped(other, stretch).is_some_and(|(_, dumped)| ticks(dumped));
        for other in self.sources.facts.recording.threads() {
            if !other.main && other.uid != thread.uid && !(waits_deep && only_ticks(other)) {
                since = since.max(self.last_work(other, stretch)?.unwrap_or(since));
            }
        }
        Ok(since)
    }

    /// The thread in the last dump of that time: the longer nothing changes, the more is known.
    fn dumped(&self, thread: &Thread, stretch: &Stretch) -> Option<(&Claims<'_>, &dump::Thread)> {
        let name = thread_name(thread);
        // The last dump of all is taken after the last event.
        let until = if stretch.ended { stretch.until } else { u64::MAX };
        let mut within = self.claims.iter().rev().filter(|(at, _)| (stretch.since..=until).contains(at));
        within.find_map(|(_, dump)| {
            // Of the thread that ends the process the last dump shows no more than that.
            let mut threads = dump.section.threads.iter().filter(|dumped| !is_ending(dumped));
            let dumped = threads.find(|dumped| dumped.name.as_deref() == Some(name.as_str()));
            Some((dump, dumped.or_else(|| self.renamed(dump.section, stretch))?))
        })
    }

    /// The thread of a dump that has got another name since its recording began: it is in the stretch's call, or enters its
    /// monitor.
    fn renamed<'s>(&self, section: &'s Section, stretch: &Stretch) -> Option<&'s dump::Thread> {
        let call = stretch.call.map(|(method, _)| self.sources.names.method(method));
        let recorded = self.sources.facts.recording.threads();
        let is_new = |dumped: &&dump::Thread| {
            recorded.iter().all(|known| dumped.name.as_deref() != Some(thread_name(known).as_str()))
        };
        let enters = |dumped: &dump::Thread| match stretch.sign {
            Sign::Still(Some(Wait { kind: WaitKind::Monitor, lock, .. })) => {
                let is_it =
                    |line: &LockLine| line.kind == LockKind::WaitingToLock && line.address == Some(lock);
                dumped.locks.iter().any(is_it)
            }
            _ => false,
        };
        let is_it = |dumped: &&dump::Thread| {
            let is_in = |call: &str| seen(dumped).any(|frame| frame.is_call_of(call));
            call.as_deref().is_some_and(is_in) || enters(dumped)
        };
        section.threads.iter().filter(is_new).find(is_it)
    }

    /// True if a thread is in the program's own code, and not in a library's alone: idle workers of a server wait there for
    /// requests, in queues of its own.
    fn is_in_program(&self, stretch: &Stretch, dumped: Option<(&Claims<'_>, &dump::Thread)>) -> bool {
        let main = dumped.and_then(|(dump, _)| outermost(dump.section.main()?));
        let named = &self.sources.facts.recording.header().process_name;
        let of_name = || Some(named.as_str()).filter(|name| !name.ends_with(".jar"));
        let Some(program) = main.or_else(of_name).map(owner) else { return true };
        match (dumped, stretch.call) {
            (Some((_, dumped)), _) => own_classes(dumped).any(|class| owner(class) == program),
            (None, Some((call, _))) => {
                let name = self.sources.names.method(call);
                name.rsplit_once('.').is_none_or(|(class, _)| owner(class) == program)
            }
            (None, None) => true,
        }
    }

    fn waited(&self, wait: &Wait) -> Waited<'_> {
        let class = self.sources.facts.recording.texts().get(wait.class);
        Waited { kind: wait.kind, call: wait.call, class }
    }

    /// The debt to the thread, by a dump of that time or else by the recorded wait.
    fn due(
        &self,
        thread: &Thread,
        stretch: &Stretch,
        dumped: Option<&dump::Thread>,
    ) -> Result<Due, ReadError> {
        let wait = match stretch.sign {
            Sign::LongCall if self.was_collected(thread, stretch) => return Ok(Due::Owed),
            Sign::LongCall if !self.usual.is_unusual(stretch) => return Ok(Due::Nothing),
            Sign::LongCall => {
                let is_idle = self.idle(thread, stretch, dumped)? >= stretch.took() / 2;
                return Ok(if is_idle { Due::Nothing } else { Due::Owed });
            }
            Sign::Still(wait) => wait,
            // A thread that serves waits at one place again and again, too.
            Sign::Convoy(wait) => {
                let due = due_to_recorded(self.waited(&wait));
                return Ok(if due == Due::Owed { due } else { Due::Nothing });
            }
            Sign::Computing => None,
        };
        Ok(match (dumped, wait) {
            (Some(dumped), _) if thread.main && keeps_alive(dumped) => Due::Unknown,
            (Some(dumped), _) => due_to_dumped(dumped),
            (None, Some(wait)) => due_to_recorded(self.waited(&wait)),
            (None, None) if self.usual.is_unusual(stretch) => Due::Owed,
            // Only main's CPU time can say that it computes, and its time in the queue for a processor, or collections, what kept
            // it from that; and a process that was killed in a call did not end it.
            (None, None) => {
                let ran = self.sources.facts.recorder.cpu(thread.tid, stretch.since, stretch.until);
                let ran = ran.is_some_and(|cpu| cpu.ran + cpu.waited >= cpu.polled() / 2);
                let was_killed = !stretch.ended && !in_order(self.sources.facts);
                let is_owed = ran || was_killed || self.was_collected(thread, stretch);
                if thread.main && is_owed { Due::Owed } else { Due::Nothing }
            }
        })
    }

    /// True if collections of garbage stopped all threads for half of a stretch.
    fn was_collected(&self, thread: &Thread, stretch: &Stretch) -> bool {
        let share =
            SystemShare::of(&self.sources.facts.sections.polls, thread.tid, stretch.since, stretch.until);
        share.is_some_and(|share| share.blocking_gc_time >= stretch.took() / 2)
    }

    /// The time that the thread waited in a stretch for what is not owed to it, ns.
    fn idle(
        &self,
        thread: &Thread,
        stretch: &Stretch,
        dumped: Option<&dump::Thread>,
    ) -> Result<u64, ReadError> {
        let by_dump = dumped.is_some_and(|dumped| due_to_dumped(dumped) == Due::Nothing);
        let is_idle = |wait: &Wait| {
            due_to_recorded(self.waited(wait)) == Due::Nothing || by_dump && wait.kind != WaitKind::Monitor
        };
        let within =
            |since: u64, until: u64| until.min(stretch.until).saturating_sub(since.max(stretch.since));
        let mut idle = 0_u64;
        let mut spans = self.sources.facts.spans(thread);
        while let Some((change, items)) = spans.change()? {
            if change.time().is_some_and(|time| time >= stretch.until) && items.count(typed(types::WAIT)) == 0
            {
                return Ok(idle);
            }
            if let Change::Closed { open, payload: Some(Payload::Wait(wait)), until, .. } = change
                && items.count(open.key) == 1
                && is_idle(wait)
            {
                idle = idle.saturating_add(within(open.begun, until));
            }
        }
        let outermost = spans.open().waits().next().filter(|(.., wait)| is_idle(wait));
        Ok(outermost.map_or(idle, |(_, since, _)| idle.saturating_add(within(since, stretch.until))))
    }

    /// The time at which a thread last records something in a stretch of another one, except in its first and its last second:
    /// there it gives, or gets, what the other one waited for.
    fn last_work(&self, thread: &Thread, stretch: &Stretch) -> Result<Option<u64>, ReadError> {
        let mut last = None;
        let mut spans = self.sources.facts.spans(thread);
        while let Some((change, _)) = spans.change()? {
            match change.time() {
                Some(time) if time + BESIDE >= stretch.until => break,
                Some(time) if time > stretch.since + BESIDE => last = Some(time),
                _ => {}
            }
        }
        Ok(last)
    }
}

/// The classes of the frames that are no JDK's, innermost first.
fn own_classes(thread: &dump::Thread) -> impl Iterator<Item = &str> {
    seen(thread).filter_map(|frame| match frame {
        FrameView::Java { class, .. } => Some(class).filter(|class| is_own(class)),
        _ => None,
    })
}

fn outermost(thread: &dump::Thread) -> Option<&str> {
    own_classes(thread).last()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use trace_format::event::{CallId, Wait};
    use trace_format::layout::State;
    use trace_format::section::SectionKind;
    use trace_format::synth::{RecordingBuilder, ThreadBuilder};
    use trace_format::{Event, Recording};

    use super::*;
    use crate::MethodMap;
    use crate::report::Report;
    use answers::answer::Conclusion;

    const S: u64 = 1_000_000_000;

    fn wait(kind: WaitKind) -> Event {
        Event::WaitBegin(Wait { lock: 1, ..Wait::new(kind) })
    }

    /// The report of a program that ended in order after 40 s, in which main and a worker did these things.
    fn report(main: impl FnOnce(&mut ThreadBuilder), worker: impl FnOnce(&mut ThreadBuilder)) -> Report {
        let recording = RecordingBuilder::new(7, "Shop").last_alive(40 * S).state(State::Ended as u32);
        let recording = recording.section(SectionKind::Process, b"os=linux\n");
        let bytes = recording.main("main", main).thread("worker", 8, worker).build();
        let recording = Recording::open(bytes).unwrap();
        Report::build(Path::new("shop.anrscope"), &recording, &MethodMap::empty()).unwrap()
    }

    fn hung(report: &Report) -> Option<(&str, u64, u64)> {
        let hang = report.hang.as_ref()?;
        Some((report.answer.thread.name.as_str(), hang.since / S, hang.until / S))
    }

    #[test]
    fn stalls_are_hangs_from_their_own_begin_whether_they_end_or_not() {
        let ends = |main: &mut ThreadBuilder| {
            main.enter(8 * S, 1).enter(10 * S, 2).event(11 * S, wait(WaitKind::Monitor));
            main.event(18 * S, Event::WaitEnd).exit(19 * S, 2).exit(20 * S, 1);
        };
        let lasts = |main: &mut ThreadBuilder| {
            main.enter(8 * S, 1).enter(10 * S, 2).exit(11 * S, 2).event(12 * S, wait(WaitKind::Monitor));
        };
        assert_eq!(hung(&report(ends, |_| {})), Some(("main", 11, 18)));
        assert_eq!(hung(&report(lasts, |_| {})), Some(("main", 12, 40)));
    }

    #[test]
    fn programs_that_come_on_sleep_or_wait_beside_a_worker_do_not_hang() {
        let works = |thread: &mut ThreadBuilder| {
            for second in 1..40 {
                thread.enter(second * S, 5).exit(second * S + S / 2, 5);
            }
        };
        let asleep = |main: &mut ThreadBuilder| {
            main.enter(S, 1).event(2 * S, wait(WaitKind::Sleep));
        };
        let joins = |main: &mut ThreadBuilder| {
            main.enter(S, 1).event(2 * S, wait(WaitKind::Join));
        };
        let outer = |main: &mut ThreadBuilder| {
            main.enter(S / 2, 1);
            works(main);
        };
        for found in [report(outer, |_| {}), report(asleep, |_| {}), report(joins, works)] {
            assert_eq!((found.answer.conclusion, hung(&found)), (Conclusion::NoHang, None));
        }
        // Nothing else works.
        assert_eq!(hung(&report(joins, |_| {})), Some(("main", 2, 40)));
    }

    #[test]
    fn other_threads_are_asked_about_if_main_is_in_time() {
        let asleep = |main: &mut ThreadBuilder| {
            main.enter(S, 1).event(2 * S, wait(WaitKind::Sleep));
        };
        let blocked = |worker: &mut ThreadBuilder| {
            worker.enter(S, 3).event(20 * S, wait(WaitKind::Monitor));
        };
        let found = report(asleep, blocked);
        assert_eq!(hung(&found), Some(("worker", 20, 40)));
        assert!(!found.answer.thread.main);
    }

    #[test]
    fn waits_for_one_lock_are_one_hang_if_next_to_nothing_is_between_them() {
        // Each second, with this time for itself.
        let waits = |between: u64, last: u64| {
            move |main: &mut ThreadBuilder| {
                main.enter(S, 1);
                for second in 10..last {
                    main.event(second * S, wait(WaitKind::Monitor));
                    main.event((second + 1) * S - between, Event::WaitEnd);
                }
            }
        };
        assert_eq!(hung(&report(waits(S / 20, 20), |_| {})), Some(("main", 10, 19)));
        assert_eq!(hung(&report(waits(S / 20, 39), |_| {})), Some(("main", 10, 40)), "lasts to the end");
        assert_eq!(hung(&report(waits(S / 5, 20), |_| {})), None, "it comes on");
        assert_eq!(hung(&report(|_| {}, waits(S / 20, 20))), None, "a worker of many");
    }

    /// Three calls of 0.1 s, and then one in which the thread waits again and again until 20 s.
    fn many_waits(kind: WaitKind) -> impl FnOnce(&mut ThreadBuilder) {
        move |main: &mut ThreadBuilder| {
            main.enter(S, 1);
            for second in 2..5 {
                main.enter(second * S, 2).exit(second * S + S / 10, 2);
            }
            main.enter(8 * S, 2);
            for tenth in 81..200 {
                main.event(tenth * S / 10, wait(kind)).event((tenth * 10 + 9) * S / 100, Event::WaitEnd);
            }
            main.exit(20 * S, 2).exit(39 * S, 1);
        }
    }

    #[test]
    fn calls_that_take_far_longer_than_usual_are_hangs_unless_they_rest() {
        assert_eq!(hung(&report(many_waits(WaitKind::Blocking), |_| {})), Some(("main", 8, 20)));
        assert_eq!(hung(&report(many_waits(WaitKind::Sleep), |_| {})), None);
        // Nothing says that this call usually is short.
        let first = |main: &mut ThreadBuilder| {
            main.enter(S, 1).enter(8 * S, 2);
            for tenth in 81..200 {
                main.enter(tenth * S / 10, 3).exit((tenth * 10 + 9) * S / 100, 3);
            }
            main.exit(20 * S, 2).exit(39 * S, 1);
        };
        assert_eq!(hung(&report(first, |_| {})), None);
    }

    #[test]
    fn sleeps_in_calls_that_usually_are_short_are_hangs_unless_a_round_of_a_loop_rests() {
        // Calls within each other, each of 0.1 s, and then one more of all of them, which sleeps.
        let sleeps = |calls: std::ops::Range<u32>| {
            move |main: &mut ThreadBuilder| {
                main.enter(S, 1);
                for second in 2..6 {
                    for call in calls.clone() {
                        main.enter(second * S, call);
                    }
                    for call in calls.clone().rev() {
                        main.exit(second * S + S / 10, call);
                    }
                }
                for call in calls {
                    main.enter(8 * S, call);
                }
                main.event(9 * S, wait(WaitKind::Sleep));
            }
        };
        assert_eq!(hung(&report(sleeps(2..4), |_| {})), Some(("main", 9, 40)));
        assert_eq!(hung(&report(sleeps(2..3), |_| {})), None, "one round found no work");
    }

    #[test]
    fn tasks_that_take_far_longer_than_the_ones_before_are_hangs() {
        let asleep = |main: &mut ThreadBuilder| {
            main.enter(S, 1).event(2 * S, wait(WaitKind::Sleep));
        };
        let tasks = |short: u64| {
            move |timer: &mut ThreadBuilder| {
                for second in 0..short {
                    timer.enter((2 + second) * S, 3).exit((2 + second) * S + S / 10, 3);
                }
                timer.enter(20 * S, 3).enter(20 * S, 4).event(21 * S, wait(WaitKind::ObjectWait));
            }
        };
        assert_eq!(hung(&report(asleep, tasks(5))), Some(("worker", 21, 40)));
        assert_eq!(hung(&report(asleep, tasks(1))), None, "nothing says how long a task takes");
    }

    #[test]
    fn waits_that_are_elsewhere_than_where_the_thread_rests_are_hangs() {
        let asleep = |main: &mut ThreadBuilder| {
            main.enter(S, 1).event(2 * S, wait(WaitKind::Sleep));
        };
        // Rounds of a call in which the thread waits for this time, and then a pause in the loop itself; in the last round
        // the wait does not end.
        let rounds = |kind: WaitKind, within: u64, pause: u64| {
            move |worker: &mut ThreadBuilder| {
                worker.enter(S, 3);
                for round in 0..8 {
                    let begin = (2 + round) * S;
                    worker.enter(begin, 4).event(begin, wait(kind));
                    worker.event(begin + within, Event::WaitEnd).exit(begin + within, 4);
                    worker.event(begin + within, wait(WaitKind::Sleep));
                    worker.event(begin + within + pause, Event::WaitEnd);
                }
                worker.enter(20 * S, 4).event(20 * S, wait(kind));
            }
        };
        for kind in [WaitKind::Sleep, WaitKind::ObjectWait] {
            assert_eq!(hung(&report(asleep, rounds(kind, S / 10, S / 2))), Some(("worker", 20, 40)));
            assert_eq!(hung(&report(asleep, rounds(kind, S / 10, S / 10))), None, "it rests in both");
            assert_eq!(hung(&report(asleep, rounds(kind, S / 2, S / 10))), None, "it rests there");
        }
    }

    #[test]
    fn main_that_gets_no_processor_hangs() {
        let found = |waited: u64| {
            let usage = move |ran: u64, waited: u64| {
                Event::Usage(trace_format::event::Usage {
                    tid: 7,
                    state: b'R',
                    ran,
                    waited,
                    ..Default::default()
                })
            };
            let recording = RecordingBuilder::new(7, "Shop").last_alive(40 * S).state(State::Ended as u32);
            let recording = recording.section(SectionKind::Process, b"os=linux\n").main("main", |main| {
                main.enter(S, 1).enter(10 * S, 2).exit(20 * S, 2).exit(39 * S, 1);
            });
            let recording = recording.service(|service| {
                service.event(10 * S, usage(0, 0)).event(19 * S, usage(S, waited));
            });
            let recording = Recording::open(recording.build()).unwrap();
            hung(&Report::build(Path::new("shop.anrscope"), &recording, &MethodMap::empty()).unwrap())
                .is_some()
        };
        assert!(found(7 * S));
        assert!(!found(S), "it sleeps");
    }

    /// Three short calls, and then one that waits for work for the rest of the time.
    fn serves(wait: Wait) -> impl FnOnce(&mut ThreadBuilder) {
        move |worker: &mut ThreadBuilder| {
            worker.enter(S, 3);
            for second in 2..5 {
                worker.enter(second * S, 4).exit(second * S + S / 10, 4);
            }
            worker.enter(8 * S, 4).event(8 * S, Event::WaitBegin(wait));
        }
    }

    #[test]
    fn servers_without_requests_do_not_hang_although_requests_were_short() {
        let asleep = |main: &mut ThreadBuilder| {
            main.enter(S, 1).event(2 * S, wait(WaitKind::Sleep));
        };
        let found = |(called, method): (&str, &str), class: &str, process: &str| {
            let mut recording =
                RecordingBuilder::new(7, process).last_alive(40 * S).state(State::Ended as u32);
            let class = recording.text(class);
            let recording = recording.section(SectionKind::Process, b"os=linux\n").main("main", asleep);
            let call = CallId::of(called, method);
            let wait = Wait { lock: 1, class, call, ..Wait::new(WaitKind::Blocking) };
            let recording = recording.thread("worker", 8, serves(wait)).build();
            let recording = Recording::open(recording).unwrap();
            let map = "1,1,com.acme.Shop main ()V\n3,1,org.web.Worker run ()V\n4,1,org.web.Worker next ()V\n";
            let map = MethodMap::parse(Path::new("map"), map.as_bytes().to_vec()).unwrap();
            hung(&Report::build(Path::new("shop.anrscope"), &recording, &map).unwrap()).is_some()
        };
        let (select, accept) =
            (("java.nio.channels.Selector", "select"), ("java.nio.channels.ServerSocketChannel", "accept"));
        assert!(!found(select, "sun.nio.ch.EPollSelectorImpl", "org.web.Main"));
        assert!(!found(select, "org.web.Wrapped", "org.web.Main"));
        assert!(!found(accept, "sun.nio.ch.ServerSocketChannelImpl", "org.web.Main"));
        let read = ("java.io.InputStream", "read");
        assert!(!found(read, "java.io.PipedInputStream", "com.acme.Shop"), "a library's worker");
        assert!(found(read, "java.io.PipedInputStream", "org.web.Main"), "the program's own");
        assert!(found(read, "java.io.PipedInputStream", "shop.jar"), "whose it is, is not known");
    }
}
