//! The work of other threads in a stretch whose end they have to bring.

use answers::answer::{CauseId, Claim, Claims, is_schedule};
use answers::dump;
use trace_format::event::WaitKind;
use trace_format::{ReadError, Thread};

use super::{BESIDE, Judge, MainsWait};
use crate::report::WhyCause;
use crate::report::stretches::Stretch;

/// A program that waits for the end of a thread to stay alive does so right after that thread began, ns.
const LONG_BEFORE: u64 = 2_000_000_000;

impl Judge<'_, '_> {
    /// True if main waits for the end of this thread.
    pub(super) fn is_joined(&self, thread: &Thread, place: Option<(&Claims<'_>, &dump::Thread)>) -> bool {
        match &self.mains {
            Some(MainsWait { kind: WaitKind::Join, ender: Some(tid) }) => *tid == thread.tid,
            _ => place.is_some_and(|(dump, dumped)| dump.is_joined(dumped)),
        }
    }

    /// True if it is known which thread has to end main's wait.
    pub(super) fn has_ender(&self) -> bool {
        self.mains.as_ref().is_some_and(|wait| wait.ender.is_some())
    }

    fn ender(&self) -> Option<&Thread> {
        let ender = self.mains.as_ref()?.ender?;
        self.sources.facts.recording.threads().iter().find(|thread| thread.tid == ender)
    }

    /// True if by a dump that thread computes, or the end of another wait is owed to it.
    pub(super) fn ender_is_held_up(&self, stretch: &Stretch) -> bool {
        let place = self.ender().and_then(|ender| self.dumped(ender, stretch));
        place.is_some_and(|(dump, dumped)| dump.is_held_up(dumped))
    }

    /// True if main waits, deeper than in the method that the program began with, for the end of a thread that began long
    /// before and that has nothing to do.
    pub(super) fn joins_who_rests(&self, stretch: &Stretch) -> Result<bool, ReadError> {
        let joins = self.mains.as_ref().is_some_and(|wait| wait.kind == WaitKind::Join);
        let is_late = |ender: &&Thread| stretch.since.saturating_sub(ender.started) >= LONG_BEFORE;
        let deep = joins && stretch.calls[1].is_some();
        let Some(ender) = self.ender().filter(is_late).filter(|_| deep) else { return Ok(false) };
        let dumped = self.dumped(ender, stretch).map(|(_, dumped)| dumped);
        Ok(self.idle(ender, stretch, dumped)? >= stretch.took() / 10 * 9)
    }

    /// True if all that could end the thread's wait is over, by the recorded steps of concurrent work.
    pub(super) fn is_left_alone(&self, thread: &Thread, stretch: &Stretch) -> Result<bool, ReadError> {
        let why = self.sources.chains(stretch.moment())?.why(thread)?;
        Ok(why.is_some_and(|why| why.cause == Some(WhyCause::LatchNeverCountedDown)))
    }

    /// The time since which the coroutine that has to give the result waits for a lock or a permit of coroutines, ns.
    pub(super) fn locked_out_since(
        &self,
        thread: &Thread,
        stretch: &Stretch,
    ) -> Result<Option<u64>, ReadError> {
        let chains = self.sources.chains(stretch.moment())?;
        Ok(chains.why(thread)?.and_then(|why| chains.locked_out_since(&why)))
    }

    /// The time from which on no other thread works, in a stretch whose end they have to bring: of those that count by a dump.
    pub(super) fn alone_since(
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
    pub(super) fn workers_ended(
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
