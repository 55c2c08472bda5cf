//! The place where a thread rests: where it waited longest before a stretch. A worker without work waits there; one that waits at
//! another place, in a call that usually is short, has something to do and cannot.

use std::collections::HashMap;

use trace_format::event::{CallId, WaitKind};
use trace_format::{ReadError, Thread};

use super::stretches::{Rest, Stretch, innermost};
use crate::facts::{Change, Facts, Open, OpenStack, Payload};

/// The number of earlier waits from which on a place is known.
const MIN_WAITS: u32 = 5;
/// Maximum number of places known.
const MAX_PLACES: usize = 1 << 12;

/// The innermost method around a wait, and what waits there.
type Place = (Option<u32>, WaitKind, CallId);

/// The waits of a thread by their place.
#[derive(Clone, Default)]
struct Waits(HashMap<Place, (u32, u64)>);

impl Waits {
    /// Adds the innermost item that is open, if it is a wait, for the time that it took, ns.
    fn add(&mut self, open: &OpenStack, took: u64) {
        let Some(Payload::Wait(wait)) = open.depth().checked_sub(1).and_then(|depth| open.payload(depth))
        else {
            return;
        };
        let place = (innermost(open).next().map(|call| call.key), wait.kind, wait.call);
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

/// Compares the places of the stretches' waits with those where their thread waited before.
pub(super) fn mark(facts: &Facts<'_>, thread: &Thread, stretches: &mut [Stretch]) -> Result<(), ReadError> {
    stretches.sort_by_key(|stretch| stretch.since);
    let mut next = stretches.iter_mut().peekable();
    let (mut before, mut marks) = (Waits::default(), Vec::<Mark>::new());
    let mut spans = facts.spans(thread);
    while let Some((change, open)) = spans.change()? {
        let Change::Closed { open: closed, until, .. } = change else { continue };
        while let Some(stretch) = next.next_if(|stretch| stretch.since < until) {
            marks.push(Mark { before: before.clone(), within: Waits::default(), stretch });
        }
        before.add(open, until - closed.begun);
        marks.iter_mut().for_each(|mark| mark.waited(open, &closed, until));
        while let Some(mark) = marks.pop_if(|mark| until >= mark.stretch.until) {
            mark.stretch.rest = mark.rest();
        }
    }
    let open = spans.open();
    marks.extend(next.map(|stretch| Mark { before: before.clone(), within: Waits::default(), stretch }));
    for mut mark in marks {
        if let Some(last) = open.frames().last() {
            mark.waited(open, last, mark.stretch.until);
        }
        mark.stretch.rest = mark.rest();
    }
    Ok(())
}

/// A stretch whose waits are read, with those before it and within it.
struct Mark<'s> {
    before: Waits,
    within: Waits,
    stretch: &'s mut Stretch,
}

impl Mark<'_> {
    fn waited(&mut self, open: &OpenStack, wait: &Open, until: u64) {
        let (since, end) = (self.stretch.since, self.stretch.until);
        self.within.add(open, until.min(end).saturating_sub(wait.begun.max(since)));
    }

    fn rest(&self) -> Rest {
        let (Some((here, _)), Some((_, &(number, longest)))) = (self.within.longest(), self.before.longest())
        else {
            return Rest::Unknown;
        };
        let (times, time) = self.before.0.get(here).copied().unwrap_or_default();
        match time >= longest / 2 {
            true if times >= MIN_WAITS => Rest::Here,
            false if number >= MIN_WAITS => Rest::Elsewhere,
            _ => Rest::Unknown,
        }
    }
}
