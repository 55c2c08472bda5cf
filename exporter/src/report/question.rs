//! The question that a report answers: which thread hung, and in which stretch of time.
//!
//! | asked about | if |
//! | --- | --- |
//! | the ANR that lasted longest | main was in something then |
//! | the strongest [`Stall`] of all threads | else, if main runs no messages |
//! | the unit that is open at the end | else, if it has been open for 2 s |
//! | the longest unit of main that ended | else, if it took 5 s, and the system's last request, if any, was within it |
//!
//! The thread is read with the requested moment in mind: the answer is about the stack at that moment.

use trace_format::{ReadError, Thread};

use super::MIN_ENDED_HANG;
use super::idle::Idle;
use super::sources::Sources;
use super::stall::Stall;
use super::stretches::{Sign, Stretch};
use super::walk::{EndedUnit, Walk};
use crate::facts::{Anr, Facts, Incidents, Survey, last_moment};
use crate::model::Names;

/// Age from which a message, or a call outside of messages, that is open at the end of the recording is a hang,
/// ns.
const MIN_OPEN_HANG: u64 = 2_000_000_000;

/// The hang that a report is to be about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Wanted {
    /// The worst one.
    Worst,
    /// The last one, if there is one ([`latest`]).
    Latest(Option<EndedUnit>),
}

/// The stretch of the thread's time that is asked about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asked<'a> {
    /// An ANR, which main may still be in.
    Anr(&'a Anr),
    /// From this moment to the end of the recording.
    Open(u64),
    Ended(EndedUnit),
}

impl Asked<'_> {
    fn of(stretch: &Stretch) -> Self {
        let Stretch { since, until, ended, .. } = *stretch;
        if ended { Self::Ended(EndedUnit { since, until }) } else { Self::Open(since) }
    }
}

/// A thread, as it was read, and the stretch of its time that is asked about.
pub(super) struct Question<'a> {
    /// `None` if main was not recorded.
    pub(super) thread: Option<&'a Thread>,
    /// `None` if nothing hung, as far as the recording knows.
    pub(super) asked: Option<Asked<'a>>,
    pub(super) walk: Walk<'a>,
    /// The last ANR or, without one, the first signal that was another process's: it needs an answer too.
    pub(super) at: Option<u64>,
    /// The last moment of the recording.
    pub(super) end: u64,
    /// The stall that was taken for idle, if threads without messages were asked about.
    pub(super) idle: Option<(Stall<'a>, Idle)>,
    /// The sign of that stretch; `None` for main's messages.
    pub(super) sign: Option<Sign>,
}

impl<'a> Question<'a> {
    /// The question about a recording; `walk` is the one over main ([`walk_of`]).
    pub(super) fn of(sources: &Sources<'a>, mut walk: Walk<'a>, wanted: Wanted) -> Result<Self, ReadError> {
        let Sources { facts, survey, .. } = *sources;
        let anr = worst(&facts.incidents.anrs);
        let end = end_of(facts, survey);
        let at = asked_at(&facts.incidents);
        let main = facts.main();
        if let Some(anr) = anr {
            return Ok(Self {
                thread: main,
                asked: Some(Asked::Anr(anr)),
                walk,
                at,
                end,
                idle: None,
                sign: None,
            });
        }
        // Without messages, not only main may hang.
        let (stall, idle) = if walk.has_messages() { (None, None) } else { Stall::of(sources, end)? };
        let asked = match (stall, wanted) {
            (Some(stall), _) => Some(Asked::of(&stall.stretch)),
            (None, _) if open_at_end(&walk, end).is_some() => open_at_end(&walk, end).map(Asked::Open),
            (None, Wanted::Worst) => walk.longest(MIN_ENDED_HANG).map(Asked::Ended),
            (None, Wanted::Latest(latest)) => latest.map(Asked::Ended),
        };
        let asked = asked.filter(|asked| match asked {
            Asked::Ended(ended) => at.is_none_or(|at| (ended.since..=ended.until).contains(&at)),
            _ => true,
        });
        let thread = stall.map(|stall| stall.thread).or(main);
        let is_ended = matches!(asked, Some(Asked::Ended(_)));
        if let Some(thread) = thread.filter(|_| is_ended || stall.is_some()) {
            // Only known now: read the thread again, for what it was in then.
            walk = walk_again(sources, thread, asked, at)?;
        }
        let sign = stall.map(|stall| stall.stretch.sign);
        Ok(Self { thread, asked, walk, at, end, idle, sign })
    }

    /// The question about what this one takes for idle, as if the end of its wait was due; `None` if nothing was.
    pub(super) fn if_due(&self, sources: &Sources<'a>) -> Result<Option<Self>, ReadError> {
        let Some((Stall { thread, stretch }, _)) = self.idle else { return Ok(None) };
        let (asked, at, end) = (Some(Asked::of(&stretch)), self.at, self.end);
        let walk = walk_again(sources, thread, asked, at)?;
        let sign = Some(stretch.sign);
        Ok(Some(Self { thread: Some(thread), asked, walk, at, end, idle: None, sign }))
    }
}

/// A walk over a thread that notes what it was in when it was asked about.
fn walk_again<'a>(
    sources: &Sources<'a>,
    thread: &'a Thread,
    asked: Option<Asked<'a>>,
    at: Option<u64>,
) -> Result<Walk<'a>, ReadError> {
    let mut walk = Walk::new(sources.facts, sources.names);
    walk.at = at;
    walk.requested_at = match asked {
        Some(Asked::Ended(ended)) => Some(middle(ended)),
        _ => None,
    };
    walk.run(thread)?;
    Ok(walk)
}

/// The last ANR or, without one, the first signal that was another process's.
fn asked_at(incidents: &Incidents) -> Option<u64> {
    let of_another = || incidents.of_another().map(|(at, _)| at);
    incidents.anrs.iter().map(|anr| anr.detected).next_back().or_else(of_another)
}

/// A walk over main that notes what the question about it asks for.
pub(super) fn walk_of<'a>(facts: &'a Facts<'a>, names: &'a Names<'a>) -> Walk<'a> {
    let mut walk = Walk::new(facts, names);
    walk.at = asked_at(&facts.incidents);
    walk.requested_at = worst(&facts.incidents.anrs).map(|anr| anr.detected);
    walk
}

/// The last moment of a recording, or of its worst ANR.
fn end_of(facts: &Facts<'_>, survey: &Survey) -> u64 {
    let requested = worst(&facts.incidents.anrs).map(|anr| anr.detected);
    last_moment(facts.recording, survey.last.iter().copied().chain(requested))
}

/// The last unit of main that took `least` or longer, or what main is in since long ago.
pub(super) fn latest(
    facts: &Facts<'_>,
    names: &Names<'_>,
    least: u64,
) -> Result<Option<EndedUnit>, ReadError> {
    let mut walk = Walk::new(facts, names);
    walk.latest_from = Some(least);
    let survey = walk.survey()?;
    let end = end_of(facts, &survey);
    Ok(match open_at_end(&walk, end) {
        Some(since) => Some(EndedUnit { since, until: end }),
        None => walk.longest(least),
    })
}

/// The ANR to report first: the one that lasted longest. If main was in nothing long (a service, a broadcast,
/// or an unknown main), the ANR is not a hang of main.
pub(super) fn worst(anrs: &[Anr]) -> Option<&Anr> {
    anrs.iter()
        .filter(|a| a.blocked() > 0)
        .max_by_key(|a| (a.recovered.unwrap_or(u64::MAX).saturating_sub(a.since), a.blocked()))
}

/// The start of the message that is open at the end, if that is long ago.
pub(super) fn open_at_end(walk: &Walk<'_>, end: u64) -> Option<u64> {
    let unit = walk.unit().filter(|_| walk.has_messages())?;
    (end.saturating_sub(unit.since) >= MIN_OPEN_HANG).then_some(unit.since)
}

/// The moment of a hang at which the system would have requested a dump. For a shorter one it is halfway: what
/// takes most of it is open then.
pub(super) fn middle(ended: EndedUnit) -> u64 {
    let half = ended.until.saturating_sub(ended.since) / 2;
    let after = if half.saturating_mul(2) < MIN_ENDED_HANG { half } else { MIN_ENDED_HANG };
    ended.since.saturating_add(after).min(ended.until)
}
