//! A thread's events, with the calls that were open where words are missing restored as far as possible.
//!
//! A ring overwrites its oldest words, including the starts of calls that are still open. Two sources name
//! those calls: each remaining block begins with the calls open at that point ([`OpenCalls`]), and a call that
//! ends without a start was open before. Both are collected by reading ahead to the next gap before the first
//! event is returned. So every reader has the same stack, and knows it before it writes its first slice.
//!
//! [`switched_off`] ends calls that were open when their method was switched off.
//!
//! Without a gap nothing is restored: there, an exit without an enter belongs to a method that was switched on,
//! or to the end of a pause, and the blocks' lists only confirm what was read.

use std::collections::VecDeque;

use trace_format::event::{LostEnd, OpenCalls, types};
use trace_format::{Event, Events, Fault, Item, ReadError, Recording, Source, Thread, ids};

mod switched_off;

use self::switched_off::SwitchedOff;
use super::recorder::Switch;
use super::stack::{OpenStack, begins, ends, still_open, typed};

/// Maximum number of calls restored at one gap. No thread nests this deep, but a hostile recording may.
const MAX_BEFORE: usize = 1 << 16;

/// What a thread did, or what is known about a gap.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Step {
    /// An event and its time, BOOTTIME ns.
    Event { time: u64, event: Event },
    /// The item with this key (a method's id, or a key from [`typed`]) was open when the words before `time`
    /// were lost: it started earlier.
    Before { time: u64, key: u32 },
    /// The item with this key, and all inside, was open when words were lost and is closed by now, or its
    /// method was switched off while it was open: it ended after `time`.
    Ended { time: u64, key: u32 },
    /// This many words are missing.
    Lost { words: u64 },
    /// Damage inside a block.
    Fault(Fault),
}

impl Step {
    /// Its time, and the keys of what it starts and of what it ends.
    #[inline]
    pub(crate) fn change(&self) -> Option<(u64, Option<u32>, Option<u32>)> {
        match self {
            Self::Event { time, event } => Some((*time, begins(event), ends(event))),
            Self::Before { time, key } => Some((*time, Some(*key), None)),
            Self::Ended { time, key } => Some((*time, None, Some(*key))),
            Self::Lost { .. } | Self::Fault(_) => None,
        }
    }
}

/// An iterator over the steps of a thread.
pub(crate) struct Restored<'a> {
    events: Events<'a, dyn Source + 'a>,
    /// Whether words are missing before the next event, or `steps` come first.
    interrupted: bool,
    missing: bool,
    steps: VecDeque<Step>,
    /// Where the current run of complete words started, and what was open there, outermost first.
    mark: Events<'a, dyn Source + 'a>,
    open: Vec<u32>,
    /// Time of the last event before the gap.
    now: u64,
    /// For reading a range twice; allocated on demand.
    stack: Option<OpenStack>,
    switched: Option<SwitchedOff<'a>>,
}

/// Reads `thread`. `switches` are the recording's, by time.
pub(super) fn restored<'a>(
    recording: &'a Recording<dyn Source + 'a>,
    thread: &'a Thread,
    switches: &'a [Switch],
) -> Restored<'a> {
    let missing = thread.overwritten() > 0;
    Restored {
        events: recording.events(thread),
        interrupted: missing,
        missing,
        steps: VecDeque::new(),
        mark: recording.events(thread),
        open: Vec::new(),
        now: 0,
        stack: None,
        switched: SwitchedOff::new(switches),
    }
}

impl Iterator for Restored<'_> {
    type Item = Result<Step, ReadError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.switched.is_some() { self.next_switched() } else { self.read() }
    }
}

impl Restored<'_> {
    /// The next step, including the ends of methods that were switched off.
    fn next_switched(&mut self) -> Option<Result<Step, ReadError>> {
        loop {
            if let Some(step) = self.switched.as_mut()?.next() {
                return Some(Ok(step));
            }
            match self.read() {
                Some(Ok(step)) => self.switched.as_mut()?.step(step),
                Some(Err(error)) => return Some(Err(error)),
                None => {
                    let switched = self.switched.as_mut()?;
                    switched.end();
                    return switched.next().map(Ok);
                }
            }
        }
    }

    #[inline]
    fn read(&mut self) -> Option<Result<Step, ReadError>> {
        if self.interrupted
            && let Some(step) = self.put_back()
        {
            return Some(step);
        }
        match self.events.next()? {
            Ok(Item::Event { time, event: Event::LostEnd(end) }) => Some(self.lost_end(time, end)),
            Ok(Item::Event { time, event }) => Some(Ok(Step::Event { time, event })),
            Ok(Item::Lost { words }) => Some(self.lost(Step::Lost { words })),
            Ok(Item::Fault(fault)) => Some(self.lost(Step::Fault(fault))),
            Err(error) => Some(Err(error)),
        }
    }

    /// The next step between two events; `None` if there is no more.
    #[cold]
    #[inline(never)]
    fn put_back(&mut self) -> Option<Result<Step, ReadError>> {
        if self.missing {
            self.missing = false;
            if let Err(error) = self.look_ahead() {
                return Some(Err(error));
            }
        }
        let step = self.steps.pop_front();
        self.interrupted = step.is_some();
        step.map(Ok)
    }

    /// Handles an end that was lost: what may have ended is closed here.
    #[cold]
    #[inline(never)]
    fn lost_end(&mut self, time: u64, end: LostEnd) -> Result<Step, ReadError> {
        self.find_open()?;
        let kept = still_open(self.open.iter().copied(), end);
        let gone = self.open.drain(kept..).rev();
        self.steps.extend(gone.map(|key| Step::Ended { time, key }));
        self.interrupted = true;
        self.mark = self.events.clone();
        Ok(Step::Event { time, event: Event::LostEnd(end) })
    }

    /// Handles a gap: finds what was open.
    #[cold]
    #[inline(never)]
    fn lost(&mut self, step: Step) -> Result<Step, ReadError> {
        if !self.missing {
            self.find_open()?;
        }
        (self.interrupted, self.missing) = (true, true);
        Ok(step)
    }

    /// Finds what is open after the run of words since the mark.
    fn find_open(&mut self) -> Result<(), ReadError> {
        let mut stack = self.stack.take().unwrap_or_default();
        stack.clear();
        for key in &self.open {
            stack.push(*key, 0);
        }
        for item in self.mark.clone() {
            let Item::Event { time, event } = item? else { break };
            if matches!(event, Event::LostEnd(_)) {
                break;
            }
            self.now = time;
            stack.follow(0, begins(&event), ends(&event));
        }
        self.open = stack.frames().iter().take(MAX_BEFORE).map(|open| open.key).collect();
        self.stack = Some(stack);
        Ok(())
    }

    /// Reads ahead to the next gap, to find what was open here.
    fn look_ahead(&mut self) -> Result<(), ReadError> {
        self.mark = self.events.clone();
        let mut entered = self.stack.take().unwrap_or_default();
        entered.clear();
        let mut ahead = LookAhead { entered, methods: 0, begun: false, base: None, ended: Vec::new() };
        let mut first = None;
        for item in self.events.clone() {
            let Item::Event { time, event } = item? else { break };
            first.get_or_insert(time);
            // The exits after it may be those of calls that have ended.
            if matches!(event, Event::LostEnd(_)) {
                break;
            }
            ahead.event(&event);
        }
        if let Some(time) = first {
            let found = ahead.beside(&self.open);
            let gone = self.open.drain(found.kept..).rev();
            self.steps.extend(gone.map(|key| Step::Ended { time: self.now, key }));
            self.steps.extend(found.before.iter().map(|key| Step::Before { time, key: *key }));
            self.open.extend(found.before);
        }
        self.stack = Some(ahead.entered);
        Ok(())
    }
}

/// What reading ahead from a gap finds.
struct LookAhead {
    /// What started since.
    entered: OpenStack,
    /// Number of method calls among these.
    methods: u64,
    /// Whether anything has started since.
    begun: bool,
    /// What blocks list as open at the gap, without those in `ended`.
    base: Option<BlockCalls>,
    /// What was open at the gap and has ended since, innermost first.
    ended: Vec<u32>,
}

/// Open method calls according to a block.
struct BlockCalls {
    /// Their number.
    left: u64,
    /// Those with known ids, from the outermost on.
    named: Vec<u32>,
}

/// What was open at a gap.
#[derive(Debug)]
struct GapCalls {
    /// Number of previously open calls that are still open, from the outermost on.
    kept: usize,
    /// What is open on top of these, outermost first.
    before: Vec<u32>,
}

impl LookAhead {
    fn event(&mut self, event: &Event) {
        if let Some(key) = begins(event) {
            self.begun = true;
            self.methods += u64::from(self.entered.push(key, 0) && ids::is_method(key));
        } else if let Some(key) = ends(event) {
            match self.entered.find(key) {
                Some(depth) => self.close(depth),
                None if ids::is_method(key) => self.left(key),
                // The frame was skipped: its end is not displayed.
                None if *event == Event::FrameSkipped => {}
                // Only other waits start and end inside a wait.
                None if key == typed(types::WAIT) && self.begun => {}
                None if is_displayed(key) => self.ended(key),
                None => {}
            }
        } else if let Event::OpenCalls(open) = event {
            self.open_calls(open);
        }
    }

    fn close(&mut self, depth: usize) {
        let methods = self.entered.frames()[depth..].iter().filter(|open| ids::is_method(open.key)).count();
        self.methods -= methods as u64;
        self.entered.truncate(depth);
    }

    /// Something that was open at the gap has ended, with everything inside.
    fn ended(&mut self, key: u32) {
        self.close(0);
        if self.ended.len() < MAX_BEFORE {
            self.ended.push(key);
        }
    }

    /// A method ended that was not entered since.
    fn left(&mut self, id: u32) {
        let Some(base) = &mut self.base else { return self.ended(id) };
        if base.left > base.named.len() as u64 {
            // Calls end innermost first, and these are not known by name.
            base.left -= 1;
            return self.ended(id);
        }
        // Otherwise it was never open here.
        let Some(place) = base.named.iter().rposition(|named| *named == id) else { return };
        let inside = base.named.split_off(place);
        base.left = place as u64;
        inside.into_iter().rev().for_each(|id| self.ended(id));
    }

    /// A block lists the open calls.
    fn open_calls(&mut self, open: &OpenCalls) {
        let Some(left) = u64::from(open.depth).checked_sub(self.methods) else { return };
        let base = self.base.get_or_insert_with(|| BlockCalls { left, named: Vec::new() });
        if left > base.left || left < base.named.len() as u64 {
            // The record contradicts the list: a method was switched off while it was open.
            return;
        }
        base.left = left;
        for (place, id) in (u64::from(open.first)..left).zip(open.ids()).take(MAX_BEFORE) {
            match base.named.get(place as usize) {
                Some(known) if *known == id => {}
                None if place == base.named.len() as u64 => base.named.push(id),
                _ => break,
            }
        }
    }

    /// Combines this with what was open before the gap, outermost first.
    fn beside(&self, open: &[u32]) -> GapCalls {
        let ended = || self.ended.iter().rev().copied();
        let Some(base) = &self.base else {
            // How much is open outside of what ended is unknown.
            let (mut kept, mut same) = (0, 0);
            for key in ended() {
                let Some(place) = open[kept..].iter().position(|open| *open == key) else { break };
                (kept, same) = (kept + place + 1, same + 1);
            }
            let kept = if same == 0 { open.len() } else { kept };
            return GapCalls { kept, before: ended().skip(same).collect() };
        };
        // Calls without a name may be any.
        let mut named = base.named.iter().copied().peekable();
        let mut nameless = base.left - base.named.len() as u64;
        let mut inner = ended().peekable();
        let mut kept = 0;
        for (place, key) in open.iter().enumerate() {
            if !ids::is_method(*key) {
                // It is open if a call inside it is open, or if its end shows that.
                if named.peek().is_none() && nameless == 0 && inner.next_if_eq(key).is_some() {
                    kept = place + 1;
                }
                continue;
            }
            let same = match named.peek() {
                Some(_) => named.next_if_eq(key).is_some(),
                None if nameless > 0 => {
                    nameless -= 1;
                    true
                }
                None => inner.next_if_eq(key).is_some(),
            };
            if !same {
                break;
            }
            kept = place + 1;
        }
        GapCalls { kept, before: named.chain(inner).collect() }
    }
}

/// Whether something with `key` that is not a method is displayed although its start is lost. A stage is part
/// of its frame.
fn is_displayed(key: u32) -> bool {
    key == ids::DISPATCH
        || [types::MESSAGE, types::FRAME, types::WAIT, types::SPAN, types::IDLE].map(typed).contains(&key)
}

#[cfg(test)]
mod tests;
