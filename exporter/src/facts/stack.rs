//! The open calls of a thread. Exits find their enter by id.

use trace_format::event::{self, LostEnd, types};
use trace_format::{Event, ids};

/// Maximum number of frames remembered for pairing. No thread nests this deep, but a hostile recording may.
const MAX_OPEN: usize = 1 << 20;

/// An open call or other item.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Open {
    /// A method's id, or a key from [`typed`].
    pub(crate) key: u32,
    /// When it started.
    pub(crate) begun: u64,
    /// Whether it started earlier, in words that are lost.
    pub(crate) before: bool,
}

/// The key of a typed event: its type, without its payload.
pub(crate) const fn typed(ty: u8) -> u32 {
    event::typed_id(ty, 0)
}

/// The key of what an event starts.
pub(crate) fn begins(event: &Event) -> Option<u32> {
    match event {
        Event::Enter(id) => Some(*id),
        Event::MessageBegin(_) => Some(typed(types::MESSAGE)),
        Event::FrameBegin(_) => Some(typed(types::FRAME)),
        Event::WaitBegin(_) => Some(typed(types::WAIT)),
        Event::SpanBegin(_) => Some(typed(types::SPAN)),
        Event::IdleBegin(_) => Some(typed(types::IDLE)),
        Event::StageBegin(stage) => Some(typed(*stage as u8)),
        _ => None,
    }
}

/// The key of what an event ends.
pub(crate) fn ends(event: &Event) -> Option<u32> {
    match event {
        Event::Exit(id) => Some(*id),
        Event::MessageEnd => Some(typed(types::MESSAGE)),
        Event::FrameEnd | Event::FrameSkipped => Some(typed(types::FRAME)),
        Event::WaitEnd => Some(typed(types::WAIT)),
        Event::SpanEnd => Some(typed(types::SPAN)),
        Event::IdleEnd => Some(typed(types::IDLE)),
        Event::StageEnd(stage) => Some(typed(*stage as u8)),
        _ => None,
    }
}

/// Returns true if the key is a message's.
pub(crate) fn is_message(key: u32) -> bool {
    key == ids::DISPATCH || key == typed(types::MESSAGE)
}

/// Returns how many of the open items, outermost first, are certain to be open after an end was lost. See [`LostEnd`].
pub(crate) fn still_open(
    keys: impl DoubleEndedIterator<Item = u32> + ExactSizeIterator,
    end: LostEnd,
) -> usize {
    let (count, mut keys) = (keys.len(), keys);
    match end {
        LostEnd::Any => 0,
        LostEnd::Exit(id) => keys.position(|key| key == id).unwrap_or(count),
        // Traced methods may run inside of another thread's wait, which goes on.
        LostEnd::Wait => keys.rposition(|key| key != typed(types::WAIT)).map_or(0, |at| at + 1),
    }
}

/// A stack that finds the innermost frame with a key, without walking if no open frame has it.
///
/// It knows the depths of its messages too. A reader asks at every event which message main is in, and a recursion to the end of
/// main's stack has tens of thousands of frames above that message: a walk at each of them took 20 s for a recording of 1.6 MB.
#[derive(Debug)]
pub(crate) struct OpenStack {
    frames: Vec<Open>,
    /// Number of frames by key.
    count: Vec<u32>,
    /// Depths of the frames that are messages, outermost first.
    messages: Vec<usize>,
}

impl OpenStack {
    pub(crate) fn new() -> Self {
        Self { frames: Vec::with_capacity(256), count: vec![0; 1 << 20], messages: Vec::new() }
    }

    /// Opens an item; returns `false` if the stack is too deep to remember it.
    #[inline]
    pub(crate) fn push(&mut self, key: u32, begun: u64) -> bool {
        self.push_open(Open { key, begun, before: false })
    }

    /// Opens an item that was open when the words before `first` were lost.
    pub(crate) fn push_before(&mut self, key: u32, first: u64) -> bool {
        self.push_open(Open { key, begun: first, before: true })
    }

    #[inline]
    fn push_open(&mut self, open: Open) -> bool {
        if self.frames.len() >= MAX_OPEN {
            return false;
        }
        let key = open.key;
        if is_message(key) {
            self.messages.push(self.frames.len());
        }
        self.frames.push(open);
        self.count[key as usize] += 1;
        true
    }

    /// The depth of the innermost frame with `key`.
    #[inline]
    pub(crate) fn find(&self, key: u32) -> Option<usize> {
        if self.frames.last()?.key == key {
            return Some(self.frames.len() - 1);
        }
        if self.count[key as usize] == 0 {
            return None;
        }
        self.frames.iter().rposition(|f| f.key == key)
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Open> {
        let frame = self.frames.pop()?;
        self.count[frame.key as usize] -= 1;
        if is_message(frame.key) {
            self.messages.pop();
        }
        Some(frame)
    }

    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Outermost first.
    pub(crate) fn frames(&self) -> &[Open] {
        &self.frames
    }

    /// The depths of the open messages, outermost first.
    pub(crate) fn messages(&self) -> &[usize] {
        &self.messages
    }

    /// The innermost method, if it is near the top.
    pub(crate) fn innermost_method(&self) -> Option<u32> {
        self.frames.iter().rev().take(64).map(|f| f.key).find(|key| ids::is_method(*key))
    }

    /// Closes all frames from `depth` inwards.
    pub(crate) fn truncate(&mut self, depth: usize) {
        while self.frames.len() > depth {
            self.pop();
        }
    }

    /// Opens what a step begins, or else closes what it ends, with all inside.
    pub(crate) fn follow(&mut self, time: u64, begun: Option<u32>, ended: Option<u32>) {
        if let Some(key) = begun {
            self.push(key, time);
        } else if let Some(depth) = ended.and_then(|key| self.find(key)) {
            self.truncate(depth);
        }
    }

    pub(crate) fn clear(&mut self) {
        self.truncate(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_frame_of_an_id_is_found_and_an_absent_one_is_not() {
        let mut stack = OpenStack::new();
        for (time, key) in [7, 8, 7, typed(types::WAIT)].into_iter().enumerate() {
            assert!(stack.push(key, time as u64));
        }
        assert_eq!((stack.find(7), stack.find(8), stack.find(9)), (Some(2), Some(1), None));
        assert_eq!(stack.innermost_method(), Some(7));
        stack.pop();
        stack.pop();
        assert_eq!((stack.find(7), stack.depth()), (Some(0), 2));
        stack.clear();
        assert_eq!((stack.find(7), stack.innermost_method()), (None, None));
    }

    #[test]
    fn open_messages_are_known_by_their_depth() {
        let mut stack = OpenStack::new();
        for key in [7, ids::DISPATCH, 8, typed(types::MESSAGE), 9] {
            assert!(stack.push(key, 1));
        }
        assert_eq!(stack.messages(), [1, 3]);
        stack.truncate(3);
        assert_eq!(stack.messages(), [1]);
        assert!(stack.push_before(ids::DISPATCH, 1));
        assert_eq!(stack.messages(), [1, 3]);
        stack.clear();
        assert!(stack.messages().is_empty());
    }
}
