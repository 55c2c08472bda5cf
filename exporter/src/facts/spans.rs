//! A thread's items from their begins to their ends: the one place that pairs them for the pages.
//!
//! ```text
//! events   enter 1   enter 2   wait   exit 1
//! changes  Opened 1  Opened 2  Opened wait   Closed wait by Outer, Closed 2 by Outer, Closed 1 by End
//! ```
//! A change is returned before it happens, so that a reader sees what was open until then ([`Spans::open`]).

use trace_format::{Event, ReadError, ids};

use super::restored::{Restored, Step};
use super::stack::{Open, OpenStack, Payload, begins, ends};

/// The reason why an item is no longer open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EndedBy {
    /// The item's own end, which was recorded.
    End,
    /// A word that says that the item was no frame after all.
    Skipped,
    /// The recorded end of an item around it; its own was not recorded.
    Outer,
    /// Nothing that is recorded: its end was lost, or its method was switched off. It ended at this time or later.
    Unrecorded,
}

/// A change of what is open on a thread, or an event between two of them. Times are BOOTTIME ns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Change<'s> {
    /// An item opens, on top of the others.
    Opened { open: Open, payload: Option<&'s Payload> },
    /// The innermost open item ends.
    Closed { open: Open, payload: Option<&'s Payload>, until: u64, by: EndedBy },
    /// An event that opens and closes nothing, such as an end without a begin.
    Event { time: u64, event: &'s Event },
    /// A number of words that are missing.
    Lost { words: u64 },
    /// Damage inside a block.
    Fault,
}

impl Change<'_> {
    /// The time; `None` where words are missing.
    #[inline]
    pub(crate) fn time(&self) -> Option<u64> {
        match self {
            Self::Opened { open, .. } => Some(open.begun),
            Self::Closed { until, .. } => Some(*until),
            Self::Event { time, .. } => Some(*time),
            Self::Lost { .. } | Self::Fault => None,
        }
    }

    /// Returns true for the change that an event says itself, which each recorded event has once.
    #[inline]
    pub(crate) fn is_recorded(&self) -> bool {
        match self {
            Self::Opened { open, .. } => !open.before,
            Self::Closed { by, .. } => matches!(by, EndedBy::End | EndedBy::Skipped),
            Self::Event { .. } => true,
            Self::Lost { .. } | Self::Fault => false,
        }
    }
}

/// The change that was returned last, which happens when the next one is asked for.
#[derive(Clone, Copy, Debug)]
enum Due {
    Nothing,
    Open(Open),
    Close,
}

/// The items from the innermost to the one at a depth are closed, one after the other.
#[derive(Clone, Copy, Debug)]
struct Closing {
    depth: usize,
    until: u64,
    by: EndedBy,
}

/// The changes of a thread, in order.
pub(crate) struct Spans<'a> {
    steps: Restored<'a>,
    open: OpenStack,
    due: Due,
    closing: Option<Closing>,
    /// The payload of the item that is due to open, if it has one.
    payload: Option<Payload>,
    /// The event that was returned last.
    event: Event,
}

impl<'a> Spans<'a> {
    pub(super) fn of(steps: Restored<'a>) -> Self {
        let event = Event::MessageEnd;
        Self { steps, open: OpenStack::default(), due: Due::Nothing, closing: None, payload: None, event }
    }

    /// The items that are open after the last change.
    pub(crate) fn open(&self) -> &OpenStack {
        &self.open
    }

    /// The items that are open after the last change.
    pub(crate) fn into_open(self) -> OpenStack {
        self.open
    }

    /// The next change, and the items that are open until it happens; `None` after the last one.
    ///
    /// # Errors
    /// If reading fails.
    // A call that returns it through memory takes a report a third longer.
    #[inline(always)]
    pub(crate) fn change(&mut self) -> Result<Option<(Change<'_>, &OpenStack)>, ReadError> {
        match std::mem::replace(&mut self.due, Due::Nothing) {
            Due::Nothing => {}
            Due::Open(open) if ids::is_method(open.key) => drop(self.open.open(open, None)),
            Due::Open(open) => drop(self.open.open(open, self.payload)),
            Due::Close => drop(self.open.pop()),
        }
        if let Some(closing) = self.closing {
            return Ok(Some(self.close(closing)));
        }
        loop {
            // An event is large, and not moved.
            let step = self.steps.next();
            if let Some(Err(error)) = step {
                return Err(error);
            }
            let Some(Ok(step)) = &step else { return Ok(None) };
            match step {
                Step::Event { time, event } => {
                    let is_full = self.open.is_full();
                    if let Some(key) = begins(event).filter(|_| !is_full) {
                        if !ids::is_method(key) {
                            self.payload = Payload::of(event);
                        }
                        return Ok(Some(self.opened(key, *time, false)));
                    }
                    if let Some(depth) = ends(event).and_then(|key| self.open.find(key)) {
                        let by = match event {
                            Event::FrameSkipped => EndedBy::Skipped,
                            _ => EndedBy::End,
                        };
                        return Ok(Some(self.close(Closing { depth, until: *time, by })));
                    }
                    self.event = *event;
                    return Ok(Some((Change::Event { time: *time, event: &self.event }, &self.open)));
                }
                Step::Before { time, key } if !self.open.is_full() => {
                    self.payload = None;
                    return Ok(Some(self.opened(*key, *time, true)));
                }
                Step::Ended { time, key } => {
                    if let Some(depth) = self.open.find(*key) {
                        let closing = Closing { depth, until: *time, by: EndedBy::Unrecorded };
                        return Ok(Some(self.close(closing)));
                    }
                }
                Step::Before { .. } => {}
                Step::Lost { words } => return Ok(Some((Change::Lost { words: *words }, &self.open))),
                Step::Fault(_) => return Ok(Some((Change::Fault, &self.open))),
            }
        }
    }

    /// Calls `found` with each of the moments, which are in order, and what was open then.
    ///
    /// # Errors
    /// If reading fails.
    pub(crate) fn open_at(
        mut self,
        moments: impl IntoIterator<Item = u64>,
        mut found: impl FnMut(u64, &OpenStack),
    ) -> Result<(), ReadError> {
        let mut next = moments.into_iter().peekable();
        while next.peek().is_some()
            && let Some((change, open)) = self.change()?
        {
            let Some(time) = change.time() else { continue };
            while let Some(at) = next.next_if(|at| *at < time) {
                found(at, open);
            }
        }
        next.for_each(|at| found(at, &self.open));
        Ok(())
    }

    #[inline]
    fn opened(&mut self, key: u32, begun: u64, before: bool) -> (Change<'_>, &OpenStack) {
        let open = Open { key, begun, before };
        self.due = Due::Open(open);
        let payload = if ids::is_method(key) { None } else { self.payload.as_ref() };
        (Change::Opened { open, payload }, &self.open)
    }

    /// Closes the innermost item, of which there is one.
    #[inline]
    fn close(&mut self, closing: Closing) -> (Change<'_>, &OpenStack) {
        let Closing { depth, until, by } = closing;
        let innermost = self.open.depth() - 1;
        let open = self.open.frames()[innermost];
        let is_last = innermost == depth;
        self.closing = (!is_last).then_some(closing);
        self.due = Due::Close;
        let by = if is_last || by == EndedBy::Unrecorded { by } else { EndedBy::Outer };
        (Change::Closed { open, payload: self.open.payload(innermost), until, by }, &self.open)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use trace_format::Recording;
    use trace_format::event::{Frame, LostEnd, Wait, WaitKind};
    use trace_format::synth::{RecordingBuilder, ThreadBuilder};

    use super::*;
    use crate::facts::Facts;
    use crate::facts::stack::typed;

    fn name(key: u32) -> String {
        if ids::is_method(key) { key.to_string() } else { "w".to_owned() }
    }

    /// Main's changes as begins (`+7`), ends (`-7`), ends by an outer end (`<7`) and unrecorded ones (`~7`), with what is open
    /// after the last.
    fn changes(make: impl FnOnce(&mut ThreadBuilder)) -> String {
        let recording = Recording::open(RecordingBuilder::new(1, "p").main("main", make).build()).unwrap();
        let facts = Facts::of(&recording).unwrap();
        let mut spans = facts.spans(facts.main().unwrap());
        let mut text = Vec::new();
        while let Some((change, items)) = spans.change().unwrap() {
            let depth = items.depth();
            text.push(match change {
                Change::Opened { open, payload } => {
                    assert_eq!(payload.is_some(), !open.before && !ids::is_method(open.key));
                    format!("{}{}", if open.before { "?" } else { "+" }, name(open.key))
                }
                Change::Closed { open, by, payload, .. } => {
                    assert_eq!(items.frames().last(), Some(&open));
                    assert_eq!(items.payload(depth - 1), payload);
                    let sign = match by {
                        EndedBy::End => '-',
                        EndedBy::Skipped => '!',
                        EndedBy::Outer => '<',
                        EndedBy::Unrecorded => '~',
                    };
                    format!("{sign}{}", name(open.key))
                }
                Change::Event { .. } => ".".to_owned(),
                Change::Lost { .. } | Change::Fault => "lost".to_owned(),
            });
        }
        text.extend(spans.into_open().frames().iter().map(|open| name(open.key)));
        text.join(" ")
    }

    const WAIT: Event = Event::WaitBegin(Wait { lock: 1, ..Wait::new(WaitKind::Park) });

    #[test]
    fn ends_close_what_is_inside_and_ends_without_a_begin_close_nothing() {
        let text = changes(|t| {
            t.enter(1, 1).enter(2, 2).event(3, WAIT).exit(4, 9).exit(5, 1).enter(6, 3);
        });
        assert_eq!(text, "+1 +2 +w . <w <2 -1 +3 3");
    }

    #[test]
    fn lost_begins_and_ends_are_said() {
        let text = changes(|t| {
            t.overwritten(3).enter(5, 2).enter(6, 3).event(7, Event::LostEnd(LostEnd::Exit(2))).exit(9, 1);
        });
        assert_eq!(text, "+2 +3 . ~3 ~2 .", "exits after a lost end may be those of calls that have ended");
        let text = changes(|t| {
            t.overwritten(3).enter(5, 2).exit(9, 1);
        });
        assert_eq!(text, "?1 +2 <2 -1");
        let frame = Event::FrameBegin(Frame::default());
        let text = changes(|t| {
            t.event(5, frame).event(6, Event::FrameSkipped).event(7, Event::FrameEnd);
        });
        assert_eq!(text, "+w !w .");
    }

    #[test]
    fn open_items_are_found_by_their_moment() {
        let make = |t: &mut ThreadBuilder| {
            t.enter(10, 1).enter(20, 2).exit(30, 2).exit(40, 1);
        };
        let recording = Recording::open(RecordingBuilder::new(1, "p").main("main", make).build()).unwrap();
        let facts = Facts::of(&recording).unwrap();
        let mut found = Vec::new();
        let spans = facts.spans(facts.main().unwrap());
        spans.open_at([5, 20, 25, 35, 99], |at, open| found.push((at, open.depth()))).unwrap();
        assert_eq!(found, [(5, 0), (20, 2), (25, 2), (35, 1), (99, 0)]);
    }

    proptest! {
        /// Each item that opens closes once, innermost first, or is open at the end, and each event is one recorded change.
        #[test]
        fn items_close_in_order_and_events_count_once(
            events in proptest::collection::vec((0_u32..5, any::<bool>()), 1..200), lost: bool,
        ) {
            let make = |t: &mut ThreadBuilder| {
                if lost {
                    t.overwritten(9);
                }
                for (at, (id, begins)) in events.iter().enumerate() {
                    let at = 10 + at as u64;
                    match (id, begins) {
                        (0, true) => t.event(at, WAIT),
                        (0, false) => t.event(at, Event::WaitEnd),
                        (id, true) => t.enter(at, *id),
                        (id, false) => t.exit(at, *id),
                    };
                }
            };
            let recording = Recording::open(RecordingBuilder::new(1, "p").main("main", make).build()).unwrap();
            let facts = Facts::of(&recording).unwrap();
            let mut spans = facts.spans(facts.main().unwrap());
            let (mut open, mut recorded) = (Vec::new(), 0);
            while let Some((change, items)) = spans.change().unwrap() {
                prop_assert_eq!(items.frames(), open.as_slice());
                prop_assert_eq!(items.count(typed(trace_format::event::types::WAIT)) as usize,
                    open.iter().filter(|open| !ids::is_method(open.key)).count());
                recorded += usize::from(change.is_recorded());
                match change {
                    Change::Opened { open: opened, .. } => open.push(opened),
                    Change::Closed { open: closed, .. } => prop_assert_eq!(open.pop(), Some(closed)),
                    _ => {}
                }
            }
            prop_assert_eq!(spans.open().frames(), open.as_slice());
            prop_assert_eq!(recorded, events.len());
        }
    }
}
