//! The stretch in which main did not come back.

use trace_format::{ReadError, Recording, Source};

use super::Hang;
use super::waits::wait_fact;
use super::walk::{Walk, message_of};
use crate::model::{Anr, Names};

/// A message that is open at the end of the recording is a hang from this age on, ns.
const HANG: u64 = 2_000_000_000;

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
