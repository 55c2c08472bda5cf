//! Judges what is owed to a thread in a stretch without progress, and so whether that is a hang.
//!
//! A healthy thread has stretches too, when there is nothing to do. What a thread waits for says which of them are a hang
//! ([`Due`]): by a dump of that time, or else by the recorded wait. Where neither says it, a call that usually is short decides.

use std::cmp::Reverse;

use answers::answer::{
    CauseId, Claim, Claims, Due, FrameView, SystemShare, due_to_dumped, due_to_recorded, has_waited_anew,
    is_ending, is_own, is_schedule, keeps_alive, of_recorded, runs_coroutines, seen, ticks, waits_for,
};
use answers::dump::{self, LockKind, LockLine, Section};
use answers::waited::Waited;
use trace_format::event::{CallId, Wait, WaitKind, types};
use trace_format::{ReadError, Thread};

use super::WhyCause;
use super::idle::Idle;
use super::sources::Sources;
use super::stretches::{Rest, Sign, Stretch, Usual, in_order};
use crate::facts::{Change, Payload, typed};
use crate::model::owner;
use crate::words::thread_name;

/// Another thread works beside a wait if it records something this long after the wait began and before it ended, ns.
const BESIDE: u64 = 1_000_000_000;
/// A sleep of main within so many calls that usually are short, one in the other, is a hang: a round of a loop may
/// sleep if it finds no work, but not what such a round calls. Of other threads, which wait for work deeper in calls,
/// one more.
const LEAST_UNUSUAL: usize = 2;
const LEAST_UNUSUAL_OF_OTHERS: usize = 3;
/// A program that waits for the end of a thread to stay alive does so right after that thread began, ns.
const LONG_BEFORE: u64 = 2_000_000_000;

/// A stretch that is a hang.
pub(super) struct Judged {
    pub(super) claim: Claim,
    /// The begin of the hang. If other threads have to end it, that is when the last of them stops.
    pub(super) since: u64,
    pub(super) daemon: bool,
}

/// Main's wait in the longest of its stretches.
pub(super) struct MainsWait {
    kind: WaitKind,
    /// The kernel id of the thread that has to end it, by the recorded steps of concurrent work.
    ender: Option<u32>,
}

impl MainsWait {
    pub(super) fn of(
        sources: &Sources<'_>,
        all: &[(&Thread, Vec<Stretch>)],
    ) -> Result<Option<Self>, ReadError> {
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
pub(super) struct Judge<'a, 't> {
    pub(super) sources: &'a Sources<'t>,
    /// The claims of the threads in each dump, with its time.
    pub(super) claims: Vec<(u64, Claims<'a>)>,
    pub(super) usual: &'a Usual,
    pub(super) mains: Option<MainsWait>,
    /// The last moment of the recording.
    pub(super) end: u64,
}

impl Judge<'_, '_> {
    /// The claim of a stretch to be the hang; `None` if it is none.
    pub(super) fn claim(&self, thread: &Thread, stretch: &Stretch) -> Result<Option<Judged>, ReadError> {
        let stretch = &Stretch { since: self.came_on_until(thread, stretch), ..*stretch };
        let place = self.dumped(thread, stretch);
        let daemon = place.is_some_and(|(_, dumped)| dumped.daemon);
        let judged = |claim| Ok(Some(Judged { claim, since: stretch.since, daemon }));
        let of_dump = place.and_then(|(dump, dumped)| dump.claim(dumped));
        let dumped = place.map(|(_, dumped)| dumped);
        let is_joined = self.is_joined(thread, place);
        let owed = self.owed(thread, stretch, of_dump, is_joined);
        let is_of_library = !thread.main && !self.is_in_program(stretch, place);
        // A thread that runs no code of the program waits for one that does.
        let is_of_jdk = !thread.main && place.is_some() && of_dump.is_none();
        let is_as_ever = stretch.sign == Sign::Works || self.is_as_ever(thread, stretch, dumped, of_dump)?;
        if is_of_jdk || is_of_library && stretch.sign == Sign::LongCall || is_as_ever {
            return Ok(None);
        }
        let by_dump = |says: fn(&Claims<'_>, &dump::Thread) -> bool| {
            place.is_some_and(|(dump, dumped)| says(dump, dumped))
        };
        let is_in_work = stretch.rest == Rest::Elsewhere || of_dump == Some(Claim::WaitsInTask);
        let waits_deep = || of_dump == Some(Claim::MainWaits) && dumped.is_some_and(waits_without_limit);
        let owed_since = |since| Ok(Some(Judged { claim: owed, since, daemon }));
        let alone = |counts: &dyn Fn(&Thread, Option<&dump::Thread>) -> bool| {
            owed_since(self.alone_since(thread, stretch, counts)?)
        };
        match self.due(thread, stretch, dumped)? {
            // Who reads what the program writes sees that it comes on.
            Due::Owed if dumped.is_some_and(waits_for_a_program) => {
                alone(&|_, dumped| dumped.is_some_and(waits_for_a_program))
            }
            Due::Owed => judged(owed),
            Due::Unknown if thread.main && self.joins_who_rests(stretch)? => judged(owed),
            Due::Unknown | Due::Result if by_dump(|dump, dumped| dump.is_surely_stuck(dumped)) => {
                judged(owed)
            }
            Due::Nothing | Due::Unknown if self.is_starved(stretch, place) => judged(Claim::Waits),
            Due::Nothing => self.without_debt(thread, stretch, of_dump, is_joined).map_or(Ok(None), judged),
            Due::Unknown if is_of_library || self.waited_for_the_end(stretch) => Ok(None),
            Due::Unknown if !is_joined && !thread.main && stretch.rests() => Ok(None),
            Due::Unknown if !thread.main && waits_for_an_end(stretch) && is_in_work => judged(owed),
            Due::Unknown | Due::Result if self.usual.is_unusual(stretch) => judged(owed),
            Due::Unknown if !thread.main && !is_joined && self.is_left_alone(thread, stretch)? => {
                judged(Claim::Waits)
            }
            Due::Unknown if !thread.main && !is_joined => Ok(None),
            Due::Unknown | Due::Result if by_dump(|dump, dumped| dump.section.serves_beside(dumped)) => {
                Ok(None)
            }
            Due::Result if let Some(since) = self.locked_out_since(thread, stretch)? => {
                owed_since(since.max(stretch.since))
            }
            Due::Result if let Some(since) = self.workers_ended(thread, stretch, of_dump)? => {
                owed_since(since)
            }
            Due::Unknown | Due::Result => {
                // A daemon that only sleeps again and again ends no wait of a main that is deep in its work.
                alone(&|other, its| !(other.main || waits_deep() && its.is_some_and(ticks)))
            }
        }
    }

    /// The claim of a wait for work or for a time, if the thread does not rest there.
    fn without_debt(
        &self,
        thread: &Thread,
        stretch: &Stretch,
        of_dump: Option<Claim>,
        is_joined: bool,
    ) -> Option<Claim> {
        if self.sleeps_deep(stretch, thread.main || is_joined) {
            return Some(Claim::HeldUp);
        }
        if of_dump == Some(Claim::SleepsInTask) && self.is_long_task(stretch) {
            return Some(Claim::SleepsInTask);
        }
        let is_elsewhere = self.usual.is_unusual(stretch) && stretch.rest == Rest::Elsewhere;
        is_elsewhere.then_some(if thread.main { Claim::HeldUp } else { Claim::Waits })
    }

    /// The begin of a stretch or, if no wait of it was recorded, the last dump by which the thread ran meanwhile and waits anew:
    /// what waits in a loop may not be in the catalogue.
    fn came_on_until(&self, thread: &Thread, stretch: &Stretch) -> u64 {
        let loops = stretch.sign == Sign::Still(None) && !(thread.main && stretch.calls[1].is_some());
        let mut since = stretch.since;
        let mut before: Option<(u64, &dump::Thread)> = None;
        let within = stretch.since..=stretch.last_dump();
        let dumps = self.claims.iter().filter(|(at, _)| loops && within.contains(at));
        for (at, dump) in dumps {
            let mut threads = dump.section.threads.iter();
            let is = threads.find(|dumped| dumped.name.as_deref() == thread.name.as_deref());
            if let (Some((was_at, was)), Some(is)) = (before, is)
                && has_waited_anew(was, is, at - was_at)
            {
                since = (*at).min(stretch.until);
            }
            before = is.map(|is| (*at, is)).or(before);
        }
        since
    }

    /// The claim of a stretch if its end is owed to the thread.
    fn owed(&self, thread: &Thread, stretch: &Stretch, of_dump: Option<Claim>, is_joined: bool) -> Claim {
        match (of_dump, thread.main, stretch.sign) {
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
            (Some(claim), _, Sign::Still(_) | Sign::Computing | Sign::Turn(_) | Sign::Works) => claim,
            (_, true, Sign::Still(Some(wait)) | Sign::Convoy(wait)) if self.is_lock(&wait) => {
                Claim::MainBlocked
            }
            (_, true, _) => Claim::MainHeldUp,
            (_, false, Sign::Still(Some(wait))) if self.is_lock(&wait) => Claim::Lock(Reverse(0)),
            _ => Claim::HeldUp,
        }
    }

    /// True for a sleep within calls that usually are short, one in the other.
    fn sleeps_deep(&self, stretch: &Stretch, is_main_or_joined: bool) -> bool {
        let sleeps = matches!(stretch.sign, Sign::Still(Some(wait)) if wait.kind == WaitKind::Sleep);
        let calls = stretch.calls.into_iter().flatten().filter(|_| sleeps);
        let unusual = calls.filter(|call| self.usual.is_unusual_call(*call, stretch)).count();
        unusual >= if is_main_or_joined { LEAST_UNUSUAL } else { LEAST_UNUSUAL_OF_OTHERS }
    }

    /// True if a task, the outermost call, takes far longer than usual.
    fn is_long_task(&self, stretch: &Stretch) -> bool {
        stretch.task.is_some_and(|task| self.usual.is_unusual_call(task, stretch))
    }

    /// True if all threads wait for each other. A program of one thread has others put what it takes, in another process.
    fn is_starved(&self, stretch: &Stretch, place: Option<(&Claims<'_>, &dump::Thread)>) -> bool {
        let has_others = self.sources.facts.recording.threads().len() > 1;
        let is_still = matches!(stretch.sign, Sign::Still(_));
        has_others && is_still && place.is_some_and(|(dump, dumped)| dump.section.is_starved(dumped))
    }

    /// True for a wait in which a healthy thread stays as long.
    fn is_as_ever(
        &self,
        thread: &Thread,
        stretch: &Stretch,
        dumped: Option<&dump::Thread>,
        of_dump: Option<Claim>,
    ) -> Result<bool, ReadError> {
        Ok(self.is_answered_late(thread, stretch, dumped, of_dump)
            || self.is_by_design(thread, stretch, dumped)
            || self.is_served_beside(thread, stretch)?)
    }

    /// True for a thread that waits for the other side of a connection as it always does: for the answer to a long poll, or for
    /// what a client of its loop sends when it likes: it has sent something, or the thread began with that loop.
    fn is_answered_late(
        &self,
        thread: &Thread,
        stretch: &Stretch,
        dumped: Option<&dump::Thread>,
        of_dump: Option<Claim>,
    ) -> bool {
        // A task of a timer is none, although it is the outermost call.
        let is_purpose =
            || stretch.task.is_some_and(|(_, begun)| begun.saturating_sub(thread.started) < BESIDE);
        let is_loop = of_dump == Some(Claim::Loops) && (stretch.ended || is_purpose());
        let is_late = stretch.rest == Rest::Always || is_loop;
        let cause = CauseId::NetworkIo;
        let reads =
            self.cause(stretch) == Some(cause) || dumped.is_some_and(|dumped| waits_for(dumped, cause));
        !thread.main && is_late && reads
    }

    /// True for a thread that waits for a permit while others get one, as if permits were given at a rate.
    fn is_served_beside(&self, thread: &Thread, stretch: &Stretch) -> Result<bool, ReadError> {
        let Sign::Still(Some(wait)) = stretch.sign else { return Ok(false) };
        if thread.main || self.cause(stretch) != Some(CauseId::PermitWait) {
            return Ok(false);
        }
        let meanwhile = stretch.since + BESIDE..stretch.until.saturating_sub(BESIDE);
        for other in self.sources.facts.recording.threads().iter().filter(|other| other.uid != thread.uid) {
            let mut spans = self.sources.facts.spans(other);
            while let Some((change, _)) = spans.change()? {
                if let Change::Closed { payload: Some(Payload::Wait(its)), until, .. } = change
                    && (its.kind, its.lock) == (wait.kind, wait.lock)
                    && meanwhile.contains(&until)
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// True for a wait that began with the program: main's for its user, and another thread's for a permit, as in a standby.
    fn is_by_design(&self, thread: &Thread, stretch: &Stretch, dumped: Option<&dump::Thread>) -> bool {
        let main = self.sources.facts.main().map_or(u64::MAX, |main| main.started);
        let Some(cause) = self.cause(stretch) else { return false };
        let is_for_it = match thread.main {
            true => dumped.is_some_and(|dumped| waits_for(dumped, CauseId::ConsoleRead)),
            false => cause == CauseId::PermitWait,
        };
        is_for_it && stretch.since.saturating_sub(main) < BESIDE
    }

    /// The time since which the coroutine that has to give the result waits for a lock or a permit of coroutines, ns.
    fn locked_out_since(&self, thread: &Thread, stretch: &Stretch) -> Result<Option<u64>, ReadError> {
        let chains = self.sources.chains(stretch.moment())?;
        Ok(chains.why(thread)?.and_then(|why| chains.locked_out_since(&why)))
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

    fn ender(&self) -> Option<&Thread> {
        let ender = self.mains.as_ref()?.ender?;
        self.sources.facts.recording.threads().iter().find(|thread| thread.tid == ender)
    }

    /// True if by a dump that thread computes, or the end of another wait is owed to it.
    fn ender_is_held_up(&self, stretch: &Stretch) -> bool {
        let place = self.ender().and_then(|ender| self.dumped(ender, stretch));
        place.is_some_and(|(dump, dumped)| dump.is_held_up(dumped))
    }

    /// True if the wait ended when a signal ended the process: main waited for that, as a program does that serves.
    fn waited_for_the_end(&self, stretch: &Stretch) -> bool {
        let is_late = |at: u64| stretch.until.abs_diff(at) < BESIDE;
        stretch.ended && is_late(self.end) && self.claims.last().is_some_and(|(at, _)| is_late(*at))
    }

    /// The cause of the wait that was recorded in a stretch.
    fn cause(&self, stretch: &Stretch) -> Option<CauseId> {
        match stretch.sign {
            Sign::Still(Some(wait)) => Some(of_recorded(self.waited(&wait))),
            _ => None,
        }
    }

    fn is_lock(&self, wait: &Wait) -> bool {
        of_recorded(self.waited(wait)) == CauseId::LockWait
    }

    /// The claim of a stretch that is no hang if its end was due after all, and whether its thread is a daemon; `None` for a
    /// thread that is not the program's.
    pub(super) fn if_due(
        &self,
        thread: &Thread,
        stretch: &Stretch,
    ) -> Result<Option<(Claim, bool)>, ReadError> {
        let place = self.dumped(thread, stretch);
        if !matches!(stretch.sign, Sign::Still(_) | Sign::Works)
            || !thread.main && !self.is_in_program(stretch, place)
        {
            return Ok(None);
        }
        let dumped = place.map(|(_, dumped)| dumped);
        let of_dump = place.and_then(|(dump, dumped)| dump.claim(dumped));
        let claim = match self.due(thread, stretch, dumped)? {
            Due::Nothing => Claim::Idle(Reverse(0)),
            _ => self.owed(thread, stretch, of_dump, self.is_joined(thread, place)),
        };
        Ok(Some((claim, dumped.is_some_and(|dumped| dumped.daemon))))
    }

    pub(super) fn idle_thread(&self, thread: &Thread, stretch: &Stretch) -> Idle {
        let wait = match stretch.sign {
            Sign::Still(Some(wait)) => Some(self.waited(&wait).words(0)),
            _ => None,
        };
        let method = stretch.calls[0].map(|(method, _)| self.sources.names.method(method).into_owned());
        let computes = stretch.sign == Sign::Works;
        Idle {
            thread: thread_name(thread),
            since: stretch.since,
            duration: stretch.took(),
            wait,
            method,
            computes,
        }
    }

    /// The time from which on no other thread works, in a stretch whose end they have to bring: of those that count by a dump.
    fn alone_since(
        &self,
        thread: &Thread,
        stretch: &Stretch,
        counts: &dyn Fn(&Thread, Option<&dump::Thread>) -> bool,
    ) -> Result<u64, ReadError> {
        let mut since = stretch.since;
        for other in self.sources.facts.recording.threads() {
            let counts = || counts(other, self.dumped(other, stretch).map(|(_, dumped)| dumped));
            if other.uid != thread.uid && counts() {
                since = since.max(self.last_work(other, stretch)?.unwrap_or(since));
            }
        }
        Ok(since)
    }

    /// The time at which the last thread ended its work, not counting schedules of daemons, which go on beside it; `None` if
    /// main does not wait for a result deep in its work, or nobody else worked.
    fn workers_ended(
        &self,
        thread: &Thread,
        stretch: &Stretch,
        of_dump: Option<Claim>,
    ) -> Result<Option<u64>, ReadError> {
        let mut names = stretch.calls.iter().flatten().map(|(method, _)| self.sources.names.method(*method));
        // A main without arguments is called by one that the compiler adds.
        let is_deep = names.next().is_some_and(|inner| names.any(|outer| outer != inner));
        if of_dump != Some(Claim::MainsResult) || !is_deep {
            return Ok(None);
        }
        let works = |other: &Thread, its: Option<&dump::Thread>| !other.main && !its.is_some_and(is_schedule);
        let since = self.alone_since(thread, stretch, &works)?;
        // In `runBlocking` main itself goes on with coroutines.
        let came_on = self.cause(stretch) == Some(CauseId::RunBlocking)
            && stretch.calls[0].is_some_and(|(_, begun)| stretch.since.saturating_sub(begun) > BESIDE);
        Ok((came_on || since > stretch.since).then_some(since))
    }

    /// True if main waits, deeper than in the method that the program began with, for the end of a thread that began long
    /// before and that has nothing to do.
    fn joins_who_rests(&self, stretch: &Stretch) -> Result<bool, ReadError> {
        let joins = self.mains.as_ref().is_some_and(|wait| wait.kind == WaitKind::Join);
        let is_late = |ender: &&Thread| stretch.since.saturating_sub(ender.started) >= LONG_BEFORE;
        let deep = joins && stretch.calls[1].is_some();
        let Some(ender) = self.ender().filter(is_late).filter(|_| deep) else { return Ok(false) };
        let dumped = self.dumped(ender, stretch).map(|(_, dumped)| dumped);
        Ok(self.idle(ender, stretch, dumped)? >= stretch.took() / 10 * 9)
    }

    /// The thread in the last dump of that time: the longer nothing changes, the more is known.
    fn dumped(&self, thread: &Thread, stretch: &Stretch) -> Option<(&Claims<'_>, &dump::Thread)> {
        let name = thread_name(thread);
        let until = stretch.last_dump();
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
        let call = stretch.calls[0].map(|(method, _)| self.sources.names.method(method));
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
        match (dumped, stretch.calls[0]) {
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
            // A function that suspends ends in parts, and so seems to be short as a rule.
            Sign::LongCall if dumped.is_some_and(runs_coroutines) => return Ok(Due::Nothing),
            Sign::LongCall if !self.usual.is_unusual(stretch) => return Ok(Due::Nothing),
            Sign::LongCall | Sign::Collected => {
                let is_idle = self.idle(thread, stretch, dumped)? >= stretch.took() / 2;
                return Ok(if is_idle { Due::Nothing } else { Due::Owed });
            }
            Sign::Still(wait) => wait,
            // A thread that serves waits at one place again and again, too.
            Sign::Convoy(wait) => {
                let due = due_to_recorded(self.waited(&wait));
                return Ok(if due == Due::Owed { due } else { Due::Nothing });
            }
            Sign::Computing | Sign::Turn(_) | Sign::Works => None,
        };
        Ok(match (dumped, wait) {
            (Some(dumped), _) if thread.main && keeps_alive(dumped) => Due::Unknown,
            (Some(dumped), _) => due_to_dumped(dumped),
            (None, Some(wait)) => due_to_recorded(self.waited(&wait)),
            (None, None) if self.usual.is_unusual(stretch) => Due::Owed,
            // Only main's CPU time can say that it computes, and its time in the queue for a processor what kept it from that;
            // and a process that was killed in a call did not end it.
            (None, None) => {
                let ran = self.sources.facts.recorder.cpu(thread.tid, stretch.since, stretch.until);
                let ran = ran.is_some_and(|cpu| cpu.ran + cpu.waited >= cpu.polled() / 2);
                let was_killed = !stretch.ended && !in_order(self.sources.facts);
                if thread.main && (ran || was_killed) { Due::Owed } else { Due::Nothing }
            }
        })
    }

    /// True if collections of garbage stopped all threads for half of a call.
    fn was_collected(&self, thread: &Thread, stretch: &Stretch) -> bool {
        let polls = &self.sources.facts.sections.polls;
        let share = SystemShare::of(polls, thread.tid, stretch.since, stretch.until);
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

/// True for a wait for the end of a thread or of a phase: none of them is a wait for work.
fn waits_for_an_end(stretch: &Stretch) -> bool {
    let latch = CallId::of("java.util.concurrent.CountDownLatch", "await");
    matches!(stretch.sign, Sign::Still(Some(wait)) if wait.kind == WaitKind::Join || wait.call == latch)
}

fn waits_for_a_program(dumped: &dump::Thread) -> bool {
    waits_for(dumped, CauseId::ProcessWait)
}

fn waits_without_limit(dumped: &dump::Thread) -> bool {
    dumped.state.as_deref().is_some_and(|state| state.starts_with("WAITING"))
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
