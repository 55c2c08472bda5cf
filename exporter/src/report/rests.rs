//! The place where a thread rests: where it waited longest before a stretch. A worker without work waits there; one that waits at
//! another place, in a call that usually is short, has something to do and cannot.

use trace_format::event::{CallId, WaitKind};
use trace_format::{ReadError, Thread};

use super::stretches::{Rest, Stretch, innermost};
use crate::facts::{Change, Facts, OpenStack, Payload};

/// The number of earlier waits from which on a place is known.
const MIN_WAITS: u32 = 5;
/// Maximum number of places known.
const MAX_PLACES: usize = 256;

/// The innermost method around a wait, and what waits there.
type Place = (Option<u32>, WaitKind, CallId);

/// The waits of a thread by their place: their number, and their time, ns. The place of the last one is the first.
#[derive(Clone, Default)]
struct Waits(Vec<(Place, u32, u64)>);

impl Waits {
    /// Adds a wait for the time that it took, ns.
    fn add(&mut self, place: Place, took: u64) {
        match self.0.iter().position(|(known, ..)| *known == place) {
            Some(at) => self.0.swap(0, at),
            None if self.0.len() < MAX_PLACES => self.0.insert(0, (place, 0, 0)),
            None => return,
        }
        let (_, number, time) = &mut self.0[0];
        (*number, *time) = (number.saturating_add(1), time.saturating_add(took));
    }

    /// The place of the longest time.
    fn longest(&self) -> Option<(Place, u32, u64)> {
        self.0.iter().copied().max_by_key(|(place, _, time)| (*time, place.0))
    }
}

/// The place of the innermost item that is open, if it is a wait.
fn place(open: &OpenStack) -> Option<Place> {
    match open.payload(open.depth().checked_sub(1)?)? {
        Payload::Wait(wait) => Some((innermost(open).next().map(|call| call.key), wait.kind, wait.call)),
        _ => None,
    }
}

/// Compares the places of the stretches' waits with those where their thread waited before.
pub(super) fn mark(facts: &Facts<'_>, thread: &Thread, stretches: &mut [Stretch]) -> Result<(), ReadError> {
    if stretches.is_empty() {
        return Ok(());
    }
    stretches.sort_by_key(|stretch| stretch.since);
    let mut next = stretches.iter_mut().peekable();
    let (mut before, mut marks) = (Waits::default(), Vec::<Mark>::new());
    let mut spans = facts.spans(thread);
    while let Some((change, open)) = spans.change()? {
        let Change::Closed { open: closed, until, .. } = change else { continue };
        while let Some(stretch) = next.next_if(|stretch| stretch.since < until) {
            marks.push(Mark { before: before.clone(), within: Waits::default(), stretch });
        }
        if let Some(place) = place(open) {
            before.add(place, until - closed.begun);
            marks.iter_mut().for_each(|mark| mark.waited(place, closed.begun, until));
        }
        while let Some(mark) = marks.pop_if(|mark| until >= mark.stretch.until) {
            mark.stretch.rest = mark.rest();
        }
    }
    let open = spans.open();
    marks.extend(next.map(|stretch| Mark { before: before.clone(), within: Waits::default(), stretch }));
    for mut mark in marks {
        if let Some((place, last)) = place(open).zip(open.frames().last()) {
            mark.waited(place, last.begun, mark.stretch.until);
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
    fn waited(&mut self, place: Place, begun: u64, until: u64) {
        let (since, end) = (self.stretch.since, self.stretch.until);
        self.within.add(place, until.min(end).saturating_sub(begun.max(since)));
    }

    fn rest(&self) -> Rest {
        let (Some((here, ..)), Some((_, number, longest))) = (self.within.longest(), self.before.longest())
        else {
            return Rest::Unknown;
        };
        let known = self.before.0.iter().find(|(place, ..)| *place == here);
        let (times, time) = known.map_or((0, 0), |(_, times, time)| (*times, *time));
        match time >= longest / 2 {
            true if times >= MIN_WAITS => Rest::Here,
            false if number >= MIN_WAITS => Rest::Elsewhere,
            _ => Rest::Unknown,
        }
    }
}
