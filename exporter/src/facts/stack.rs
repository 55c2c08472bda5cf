//! The open items of a thread: calls, messages, waits, frames. An end finds its begin by key.

use trace_format::event::{self, Frame, LostEnd, Message, Stage, TextId, Wait, types};
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

/// The part of a begin that its key does not have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Payload {
    Message(Message),
    Wait(Wait),
    Frame(Frame),
    Stage(Stage),
    /// The name of a span or idle handler.
    Text(TextId),
}

impl Payload {
    /// The payload of an event that begins something; `None` for a method.
    pub(super) fn of(event: &Event) -> Option<Self> {
        match *event {
            Event::MessageBegin(message) => Some(Self::Message(message)),
            Event::WaitBegin(wait) => Some(Self::Wait(wait)),
            Event::FrameBegin(frame) => Some(Self::Frame(frame)),
            Event::StageBegin(stage) => Some(Self::Stage(stage)),
            Event::SpanBegin(id) | Event::IdleBegin(id) => Some(Self::Text(id)),
            _ => None,
        }
    }
}

/// The key of a typed event: its type, without its payload.
pub(crate) const fn typed(ty: u8) -> u32 {
    event::typed_id(ty, 0)
}

/// The key of what an event starts.
#[inline]
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
#[inline]
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
#[inline]
pub(crate) fn is_message(key: u32) -> bool {
    key == ids::DISPATCH || key == typed(types::MESSAGE)
}

/// The kind of an item that is no method, in words.
pub(crate) fn kind_name(key: u32) -> &'static str {
    match key {
        _ if is_message(key) => "message",
        _ if key == typed(types::FRAME) => "Choreographer#doFrame",
        _ if key == typed(types::WAIT) => "wait",
        _ if key == typed(types::SPAN) => "span",
        _ if key == typed(types::IDLE) => "IdleHandler",
        _ => "frame stage",
    }
}

/// The name of an item that is no method, and was open before the record.
pub(crate) fn name_before(key: u32) -> String {
    format!("{} (began before the record)", kind_name(key))
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

/// The place of a key's count: keys of typed events, the highest, come first, so that the table ends with the highest method.
#[inline]
fn place(key: u32) -> usize {
    (key.wrapping_add(0x1000) & 0xF_FFFF) as usize
}

/// A stack that finds the innermost frame with a key, without walking if no open frame has it.
///
/// It knows the depths of its messages too. A reader asks at every event which message main is in, and a recursion to the end of
/// main's stack has tens of thousands of frames above that message: a walk at each of them took 20 s for a recording of 1.6 MB.
#[derive(Default, Debug)]
pub(crate) struct OpenStack {
    frames: Vec<Open>,
    /// Number of frames by the place of their key.
    count: Vec<u32>,
    /// Depths of the frames that are messages, outermost first.
    messages: Vec<usize>,
    /// Number of outermost frames that run a loop: a message began in them.
    loops: usize,
    /// Payloads of frames that have one, with their depths and numbers, outermost first.
    payloads: Vec<(usize, u64, Payload)>,
    /// The number of the next frame with a payload.
    next_number: u64,
}

impl OpenStack {
    /// Opens an item; returns `false` if the stack is too deep to remember it.
    #[inline]
    pub(crate) fn push(&mut self, key: u32, begun: u64) -> bool {
        self.open(Open { key, begun, before: false }, None)
    }

    /// Opens an item; returns `false` if the stack is too deep to remember it.
    #[inline]
    pub(super) fn open(&mut self, open: Open, payload: Option<Payload>) -> bool {
        if self.is_full() {
            return false;
        }
        let place = place(open.key);
        if !ids::is_method(open.key) {
            self.open_typed(open.key, payload);
        }
        self.frames.push(open);
        if place >= self.count.len() {
            self.count.resize((place + 1).next_power_of_two().max(0x2000), 0);
        }
        self.count[place] += 1;
        true
    }

    /// Notes what is known of an item that is no method, before it is pushed.
    fn open_typed(&mut self, key: u32, payload: Option<Payload>) {
        let depth = self.frames.len();
        if is_message(key) {
            self.messages.push(depth);
            self.loops = self.loops.max(depth);
        }
        if let Some(payload) = payload {
            self.payloads.push((depth, self.next_number, payload));
            self.next_number += 1;
        }
    }

    /// Forgets what is known of an item that is no method, which was at `depth`.
    fn close_typed(&mut self, key: u32, depth: usize) {
        if is_message(key) {
            self.messages.pop();
        }
        if self.payloads.last().is_some_and(|(of, ..)| *of == depth) {
            self.payloads.pop();
        }
    }

    /// Returns true if no more items can be opened.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.frames.len() >= MAX_OPEN
    }

    /// The number of open frames with this key.
    #[inline]
    pub(crate) fn count(&self, key: u32) -> u32 {
        self.count.get(place(key)).copied().unwrap_or(0)
    }

    /// The payload of the frame at this depth, if its begin was recorded and has one.
    #[inline]
    pub(crate) fn payload(&self, depth: usize) -> Option<&Payload> {
        Some(&self.numbered(depth)?.2)
    }

    /// The number of the frame at this depth among the thread's frames with a payload, if it has one. Each pass over a thread
    /// numbers alike.
    pub(crate) fn number(&self, depth: usize) -> Option<u64> {
        Some(self.numbered(depth)?.1)
    }

    /// The number that the next frame with a payload gets.
    pub(crate) fn next_number(&self) -> u64 {
        self.next_number
    }

    fn numbered(&self, depth: usize) -> Option<&(usize, u64, Payload)> {
        if ids::is_method(self.frames.get(depth)?.key) {
            return None;
        }
        // Mostly the innermost is asked for.
        self.payloads.last().filter(|(of, ..)| *of == depth).or_else(|| {
            let at = self.payloads.binary_search_by_key(&depth, |(of, ..)| *of).ok()?;
            self.payloads.get(at)
        })
    }

    /// The open waits, outermost first, each with its number and since when it is open.
    pub(crate) fn waits(&self) -> impl Iterator<Item = (u64, u64, Wait)> {
        self.payloads.iter().filter_map(|(depth, number, payload)| match payload {
            Payload::Wait(wait) => Some((*number, self.frames[*depth].begun, *wait)),
            _ => None,
        })
    }

    /// The depth of the unit that the thread is in: its innermost message, else the outermost frame in which no message began.
    #[inline]
    pub(crate) fn unit(&self) -> Option<usize> {
        self.messages.last().copied().or_else(|| (self.loops < self.depth()).then_some(self.loops))
    }

    /// Returns true if the frame at `depth` is a unit outside of messages.
    #[inline]
    pub(crate) fn is_call(&self, depth: usize) -> bool {
        depth == self.loops && self.messages.first().is_none_or(|message| *message > depth)
    }

    /// The depth of the innermost frame with `key`.
    #[inline]
    pub(crate) fn find(&self, key: u32) -> Option<usize> {
        if self.frames.last()?.key == key {
            return Some(self.frames.len() - 1);
        }
        if self.count(key) == 0 {
            return None;
        }
        self.frames.iter().rposition(|f| f.key == key)
    }

    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Open> {
        let frame = self.frames.pop()?;
        let depth = self.frames.len();
        self.count[place(frame.key)] -= 1;
        if depth < self.loops {
            self.loops = depth;
        }
        if !ids::is_method(frame.key) {
            self.close_typed(frame.key, depth);
        }
        Some(frame)
    }

    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.frames.len()
    }

    /// Outermost first.
    #[inline]
    pub(crate) fn frames(&self) -> &[Open] {
        &self.frames
    }

    /// The depths of the open messages, outermost first.
    #[inline]
    pub(crate) fn messages(&self) -> &[usize] {
        &self.messages
    }

    /// The innermost method, if it is near the top.
    pub(crate) fn innermost_method(&self) -> Option<u32> {
        self.frames.iter().rev().take(64).map(|f| f.key).find(|key| ids::is_method(*key))
    }

    /// Closes all frames from `depth` inwards.
    #[inline]
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
        let mut stack = OpenStack::default();
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
    fn keys_of_every_place_can_be_opened() {
        for bit in 0..20 {
            for key in [(1 << bit) - 1, 1 << bit, (1_u32 << bit).wrapping_sub(0x1000) & 0xF_FFFF] {
                let mut stack = OpenStack::default();
                assert!(stack.push(key, 1));
                assert_eq!((stack.find(key), stack.count(key)), (Some(0), 1), "{key:#x}");
            }
        }
    }

    #[test]
    fn open_messages_are_known_by_their_depth() {
        let mut stack = OpenStack::default();
        for key in [7, ids::DISPATCH, 8, typed(types::MESSAGE), 9] {
            assert!(stack.push(key, 1));
        }
        assert_eq!(stack.messages(), [1, 3]);
        stack.truncate(3);
        assert_eq!(stack.messages(), [1]);
        assert!(stack.push(ids::DISPATCH, 1));
        assert_eq!(stack.messages(), [1, 3]);
        stack.clear();
        assert!(stack.messages().is_empty());
    }

    #[test]
    fn calls_in_which_no_message_began_are_units_and_the_loop_is_not() {
        let mut stack = OpenStack::default();
        stack.push(7, 1);
        assert_eq!(stack.unit(), Some(0), "nothing shows yet that it runs the loop");
        stack.push(typed(types::MESSAGE), 1);
        stack.push(8, 1);
        assert_eq!(stack.unit(), Some(1));
        stack.truncate(1);
        assert_eq!(stack.unit(), None, "the loop polls");
        stack.push(9, 1);
        stack.push(10, 1);
        assert_eq!(stack.unit(), Some(1));
        assert!(stack.is_call(1) && !stack.is_call(2));
    }

    #[test]
    fn the_highest_keys_have_counts_of_their_own() {
        let mut stack = OpenStack::default();
        for key in [0, 0xF_EFFF, 0xF_F000, 0xF_FFFF, 0xF_F000] {
            assert!(stack.push(key, 1));
        }
        let count = |key| stack.count(key);
        assert_eq!([0, 1, 0xF_EFFF, 0xF_F000, 0xF_FFFF].map(count), [1, 0, 1, 2, 1]);
    }
}
