//! The stretch in which main did not come back.

use trace_format::{ReadError, Recording, Source};

use super::frame::{Frame, FrameKind};
use super::waits::{WaitFact, WaitSum, doing, wait_fact};
use super::walk::{Walk, message_of, text};
use super::words::thread_name;
use crate::model::{Anr, Names, Processor};

/// A message that is open at the end of the recording is a hang from this age on, ns.
const HANG: u64 = 2_000_000_000;

/// Different things that one message waits for.
const MAX_WAIT_KINDS: usize = 256;

/// A stretch in which the main thread did not come back.
#[derive(Clone, PartialEq, Debug)]
pub struct Hang {
    /// The message that main was in, if it was recorded.
    pub message: Option<String>,
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
    /// What main used of the processor meanwhile, if it was looked at.
    pub processor: Option<Processor>,
    /// The ANR that was made of it.
    pub anr: Option<Anr>,
}

impl Hang {
    /// How long it lasted, as far as is known.
    #[must_use]
    pub fn duration(&self) -> u64 {
        self.until.saturating_sub(self.since)
    }

    /// The innermost method that was open.
    #[must_use]
    pub fn method(&self) -> Option<&Frame> {
        self.stack.iter().rev().find(|f| f.kind == FrameKind::Method)
    }
}

/// The ANR that is reported first: the one that lasted longest. One that found main in no message (a service, a
/// broadcast, or a main of which nothing is known) is no hang of main's.
pub(super) fn worst(anrs: &[Anr]) -> Option<&Anr> {
    anrs.iter()
        .filter(|a| a.blocked() > 0)
        .max_by_key(|a| (a.recovered.unwrap_or(u64::MAX).saturating_sub(a.since), a.blocked()))
}

/// The hang that `anr` tells of; without one, the message that was open at the end.
pub(super) fn hang<S: Source>(
    recording: &Recording<S>,
    names: &Names<'_>,
    walk: &Walk<'_, S>,
    anr: Option<&Anr>,
    end: u64,
) -> Result<Option<Hang>, ReadError> {
    let last = walk.snapshot();
    let (since, at, until, ended, snapshot) = match anr {
        Some(anr) => match anr.recovered.or(walk.left.filter(|left| *left >= anr.detected)) {
            // Main went on: what it did when the ANR was detected is what counts.
            Some(ended) => (anr.since, anr.detected, ended, true, walk.asked.as_ref().unwrap_or(&last)),
            None => (anr.since, end, end, false, &last),
        },
        None => match message_of(&last).filter(|m| end.saturating_sub(m.frame.since) >= HANG) {
            Some(message) => (message.frame.since, end, end, false, &last),
            None => return Ok(None),
        },
    };
    let wait = match snapshot.last().and_then(|o| o.wait) {
        Some(wait) => {
            let begun = snapshot.last().map_or(since, |o| o.frame.since);
            Some(wait_fact(recording, names, &wait, begun, at)?)
        }
        None => None,
    };
    Ok(Some(Hang {
        message: message_of(snapshot).map(|m| m.frame.name.clone()),
        since,
        until,
        ended,
        at,
        stack: snapshot.iter().map(|o| o.frame.clone()).collect(),
        wait,
        processor: None,
        anr: anr.cloned(),
    }))
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
        sums.push(WaitSum { kind: waited.wait.kind, what, holder, since: waited.since, count: 1, total });
        if sums.len() >= MAX_WAIT_KINDS {
            break;
        }
    }
    sums
}
