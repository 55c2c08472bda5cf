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

/// The waits of a thread at one place.
#[derive(Clone, Copy)]
struct Waits {
    place: Place,
    number: u32,
    /// Their time, ns, and the shortest one.
    time: u64,
    shortest: u64,
}

/// The waits of a thread by their place. The place of the last one is the first.
#[derive(Clone, Default)]
struct Places(Vec<Waits>);

impl Places {
    /// Adds a wait for the time that it took, ns.
    fn add(&mut self, place: Place, took: u64) {
        match self.0.iter().position(|known| known.place == place) {
            Some(at) => self.0.swap(0, at),
            None if self.0.len() < MAX_PLACES => {
                self.0.insert(0, Waits { place, number: 0, time: 0, shortest: u64::MAX });
            }
            None => return,
        }
        let waits = &mut self.0[0];
        waits.number = waits.number.saturating_add(1);
        waits.time = waits.time.saturating_add(took);
        waits.shortest = waits.shortest.min(took);
    }

    /// The place of the longest time.
    fn longest(&self) -> Option<&Waits> {
        self.0.iter().max_by_key(|waits| (waits.time, waits.place.0))
    }

    fn at(&self, place: Place) -> Option<&Waits> {
        self.0.iter().find(|waits| waits.place == place)
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
    let (mut all, mut marks, mut read) = (Places::default(), Vec::<Mark>::new(), Vec::new());
    let mut spans = facts.spans(thread);
    while let Some((change, open)) = spans.change()? {
        let Change::Closed { open: closed, until, .. } = change else { continue };
        while let Some(stretch) = next.next_if(|stretch| stretch.since < until) {
            marks.push(Mark { before: all.clone(), within: Places::default(), stretch });
        }
        if let Some(place) = place(open) {
            all.add(place, until - closed.begun);
            marks.iter_mut().for_each(|mark| mark.waited(place, closed.begun, until));
        }
        while let Some(mark) = marks.pop_if(|mark| until >= mark.stretch.until) {
            read.push(mark.marked());
        }
    }
    let open = spans.open();
    marks.extend(next.map(|stretch| Mark { before: all.clone(), within: Places::default(), stretch }));
    for mut mark in marks {
        if let Some((place, last)) = place(open).zip(open.frames().last()) {
            mark.waited(place, last.begun, mark.stretch.until);
        }
        read.push(mark.marked());
    }
    for (stretch, place) in read {
        // Without itself.
        let others =
            |here: &Waits| here.number > u32::from(stretch.ended) && here.shortest >= stretch.took() / 2;
        if place.and_then(|place| all.at(place)).is_some_and(others) {
            stretch.rest = Rest::Always;
        }
    }
    Ok(())
}

/// A stretch whose waits are read, with those before it and within it.
struct Mark<'s> {
    before: Places,
    within: Places,
    stretch: &'s mut Stretch,
}

impl<'s> Mark<'s> {
    fn waited(&mut self, place: Place, begun: u64, until: u64) {
        let (since, end) = (self.stretch.since, self.stretch.until);
        self.within.add(place, until.min(end).saturating_sub(begun.max(since)));
    }

    /// The stretch with its rest, and its place.
    fn marked(self) -> (&'s mut Stretch, Option<Place>) {
        let here = self.within.longest().map(|within| within.place);
        if let (Some(here), Some(longest)) = (here, self.before.longest()) {
            let (times, time) = self.before.at(here).map_or((0, 0), |here| (here.number, here.time));
            self.stretch.rest = match time >= longest.time / 2 {
                true if times >= MIN_WAITS => Rest::Here,
                false if longest.number >= MIN_WAITS => Rest::Elsewhere,
                _ => Rest::Unknown,
            };
        }
        (self.stretch, here)
    }
}
