//! Waits in which a healthy thread stays as long: for a client, for its user, for a permit that comes at a rate.

use answers::answer::{CauseId, Claim, waits_for};
use answers::dump;
use trace_format::{ReadError, Thread};

use super::{BESIDE, Judge};
use crate::facts::{Change, Payload};
use crate::report::stretches::{Rest, Sign, Stretch};

impl Judge<'_, '_> {
    /// True for a wait in which a healthy thread stays as long.
    pub(super) fn is_as_ever(
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
}
