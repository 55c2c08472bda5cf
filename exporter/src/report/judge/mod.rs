//! Judges what is owed to a thread in a stretch without progress, and so whether that is a hang.
//!
//! A healthy thread has stretches too, when there is nothing to do. What a thread waits for says which of them are a hang
//! ([`Due`]): by a dump of that time, or else by the recorded wait. Where neither says it, a call that usually is short decides.

mod as_ever;
mod dumps;
mod others;

use std::cmp::Reverse;

use answers::answer::{
    CauseId, Claim, Claims, Due, SystemShare, due_to_dumped, due_to_recorded, keeps_alive, of_recorded,
    runs_coroutines, ticks, waits_for,
};
use answers::dump;
use answers::waited::Waited;
use trace_format::event::{CallId, Wait, WaitKind, types};
use trace_format::{ReadError, TextId, Thread};

use super::idle::Idle;
use super::sources::Sources;
use super::stretches::{Rest, Sign, Stretch, Usual, in_order};
use crate::facts::{Change, Payload, typed};
use crate::words::thread_name;

/// Another thread works beside a wait if it records something this long after the wait began and before it ended, ns.
const BESIDE: u64 = 1_000_000_000;
/// A sleep of main within so many calls that usually are short, one in the other, is a hang: a round of a loop may
/// sleep if it finds no work, but not what such a round calls. Of other threads, which wait for work deeper in calls,
/// one more.
const LEAST_UNUSUAL: usize = 2;
const LEAST_UNUSUAL_OF_OTHERS: usize = 3;

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
            // In a call that usually is short it has something to do.
            (Some(Claim::Waits), false, Sign::Still(_)) if self.usual.is_unusual(stretch) => {
                Claim::WaitsInTask
            }
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
        // A thread waits for one thing again and again, as a rule.
        let mut last: Option<((WaitKind, TextId, CallId), Due)> = None;
        let mut is_idle = |wait: &Wait| {
            let of = (wait.kind, wait.class, wait.call);
            let due = last.filter(|(known, _)| *known == of);
            let due = due.map_or_else(|| due_to_recorded(self.waited(wait)), |(_, due)| due);
            last = Some((of, due));
            due == Due::Nothing || by_dump && wait.kind != WaitKind::Monitor
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
