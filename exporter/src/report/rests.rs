//! The place where a thread rests: where it waited longest before a stretch. A worker without work waits there; one that waits at
//! another place, in a call that usually is short, has something to do and cannot.

use std::collections::HashMap;

use trace_format::event::{CallId, WaitKind};
use trace_format::{ReadError, Thread};

use super::stretches::{Stretch, innermost};
use crate::facts::{Change, Facts, OpenStack, Payload};

/// The number of earlier waits from which on a place is known.
const MIN_WAITS: u32 = 5;
/// Maximum number of places known.
const MAX_PLACES: usize = 1 << 12;

/// The innermost method around a wait, and what waits there.
type Place = (Option<u32>, WaitKind, CallId);

/// The waits of a thread by their place.
#[derive(Default)]
struct Waits(HashMap<Place, (u32, u64)>);

impl Waits {
    /// Adds the innermost item that is open, if it is a wait, for the time that it took, ns.
    fn add(&mut self, open: &OpenStack, took: u64) {
        let Some(Payload::Wait(wait)) = open.depth().checked_sub(1).and_then(|depth| open.payload(depth))
        else {
            return;
        };
        let place = (innermost(open).map(|call| call.key), wait.kind, wait.call);
        if self.0.len() < MAX_PLACES || self.0.contains_key(&place) {
            let (number, time) = self.0.entry(place).or_default();
            (*number, *time) = (number.saturating_add(1), time.saturating_add(took));
        }
    }

    /// The place of the longest time.
    fn longest(&self) -> Option<(&Place, &(u32, u64))> {
        self.0.iter().max_by_key(|(place, (_, time))| (*time, place.0))
    }
}

/// The place of a wait, beside those where its thread waited before.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rest {
    /// The thread waited there again and again, and half as long as at any other place or longer.
    Here,
    /// The thread waited again and again at another place, and not half as long at this one.
    Elsewhere,
    /// The thread waited too seldom.
    Unknown,
}

/// Compares the place of a stretch's wait with those where the thread waited before.
pub(super) fn rest(facts: &Facts<'_>, thread: &Thread, stretch: &Stretch) -> Result<Rest, ReadError> {
    let (mut before, mut within) = (Waits::default(), Waits::default());
    let mut spans = facts.spans(thread);
    while let Some((change, open)) = spans.change()? {
        let Change::Closed { open: closed, until, .. } = change else { continue };
        if until <= stretch.since {
            before.add(open, until - closed.begun);
        } else {
            within.add(open, until.min(stretch.until).saturating_sub(closed.begun.max(stretch.since)));
        }
        if until >= stretch.until {
            break;
        }
    }
    if let Some(last) = spans.open().frames().last().filter(|_| !stretch.ended) {
        within.add(spans.open(), stretch.until.saturating_sub(last.begun.max(stretch.since)));
    }
    let (Some((here, _)), Some((_, &(number, longest)))) = (within.longest(), before.longest()) else {
        return Ok(Rest::Unknown);
    };
    let (times, time) = before.0.get(here).copied().unwrap_or_default();
    Ok(match time >= longest / 2 {
        true if times >= MIN_WAITS => Rest::Here,
        false if number >= MIN_WAITS => Rest::Elsewhere,
        _ => Rest::Unknown,
    })
}
