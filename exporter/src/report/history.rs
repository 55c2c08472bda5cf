//! Records what main did in the last seconds: its messages, the units outside of them, and the waits of the
//! open one.

use std::collections::{HashMap, VecDeque};

use answers::answer::{MessageKind, RecentWork};
use trace_format::event::{Message, TextId, Wait};

use crate::facts::{Change, OpenStack, Payload, is_message};

/// Length of the time range called "before", ns.
pub(super) const BEFORE_WINDOW: u64 = 10_000_000_000;
/// Length of the time range remembered, ns.
const MEMORY_WINDOW: u64 = 30_000_000_000;
/// Maximum number of messages, and of waits of one message, remembered.
const MAX_MESSAGES: usize = 1 << 16;
const MAX_MESSAGE_WAITS: usize = 4096;

/// What ran.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum What {
    /// A message, or a unit outside of messages that the recorder saw start.
    Message(Message),
    /// Main's outermost call outside of messages: its key, and its text if it has one.
    Call(u32, TextId),
}

impl What {
    /// The identity of its kind: without due time and handler instance.
    fn kind(&self) -> (u32, u32, i32, bool) {
        match self {
            Self::Message(m) => {
                let what = if m.callback.0 > 0 { 0 } else { m.what };
                (m.target.0, m.callback.0, what, m.is_queued())
            }
            Self::Call(key, text) => (*key, text.0, -1, false),
        }
    }

    fn is_queued(&self) -> bool {
        matches!(self, Self::Message(message) if message.is_queued())
    }
}

/// A message, or a unit outside of messages, that has ended.
#[derive(Clone, Copy, PartialEq, Debug)]
struct EndedWork {
    since: u64,
    end: u64,
    what: What,
}

/// A wait that has ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct EndedWait {
    pub(super) wait: Wait,
    /// The method that waited.
    pub(super) method: Option<u32>,
    pub(super) since: u64,
    pub(super) end: u64,
}

#[derive(Debug, Default)]
pub(super) struct History {
    ran: VecDeque<EndedWork>,
    /// The newest ones.
    waits: VecDeque<EndedWait>,
    /// The outermost open one, as if it ended at its begin.
    wait: Option<EndedWait>,
    /// Number of events in the open message, and the time of the last one.
    pub(super) events: u64,
    pub(super) last: u64,
}

impl History {
    /// Takes a change, and what was open until then.
    pub(super) fn change(&mut self, change: &Change<'_>, open: &OpenStack) {
        if let Some(at) = change.time().filter(|_| change.is_recorded()) {
            self.events += 1;
            self.last = at;
        }
        match *change {
            Change::Opened { open: begun, payload: Some(Payload::Wait(wait)) }
                if open.count(begun.key) == 0 =>
            {
                let method = open.innermost_method();
                self.wait = Some(EndedWait { wait: *wait, method, since: begun.begun, end: begun.begun });
            }
            Change::Opened { open: begun, .. } if is_message(begun.key) && open.messages().is_empty() => {
                self.forget_open();
            }
            Change::Closed { payload: Some(Payload::Wait(_)), open: ended, until, .. }
                if open.count(ended.key) == 1 =>
            {
                self.waited(until);
            }
            // In a loop within a message, a message is part of that one.
            Change::Closed { open: ended, payload, until, .. }
                if is_message(ended.key) && open.messages().len() == 1 && !ended.before =>
            {
                let message = match payload {
                    Some(Payload::Message(message)) => *message,
                    _ => Message::default(),
                };
                self.ran(EndedWork { since: ended.begun, end: until, what: What::Message(message) });
            }
            _ => {}
        }
    }

    fn waited(&mut self, end: u64) {
        let Some(wait) = self.wait.take() else { return };
        if self.waits.len() == MAX_MESSAGE_WAITS {
            self.waits.pop_front();
        }
        self.waits.push_back(EndedWait { end, ..wait });
    }

    /// Notes that main's outermost call, outside of messages, has ended.
    pub(super) fn call(&mut self, since: u64, end: u64, key: u32, text: TextId) {
        self.ran(EndedWork { since, end, what: What::Call(key, text) });
    }

    /// Forgets the facts of the open message or call: they belong to an earlier one.
    pub(super) fn forget_open(&mut self) {
        self.waits.clear();
        self.wait = None;
        self.events = 0;
    }

    fn ran(&mut self, ran: EndedWork) {
        let at = ran.end;
        self.ran.push_back(ran);
        let old = |ran: &EndedWork| at.saturating_sub(ran.end) > MEMORY_WINDOW;
        while self.ran.len() > MAX_MESSAGES || self.ran.front().is_some_and(old) {
            self.ran.pop_front();
        }
    }

    /// The waits of the open message; an open one is closed at `at`.
    pub(super) fn waits(&self, at: u64) -> impl Iterator<Item = EndedWait> {
        let open = self.wait.map(|wait| EndedWait { end: at.max(wait.since), ..wait });
        self.waits.iter().copied().chain(open)
    }

    /// The work between two moments, cut to them; includes calls outside of messages only if `calls`.
    pub(super) fn between(
        &self,
        from: u64,
        to: u64,
        calls: bool,
        name: impl Fn(What) -> String,
    ) -> RecentWork {
        let mut kinds: HashMap<(u32, u32, i32, bool), (What, MessageKind)> = HashMap::new();
        let mut before = RecentWork { from, to, ..RecentWork::default() };
        for ran in self.ran.iter().filter(|ran| ran.end > from && ran.since < to) {
            if !calls && matches!(ran.what, What::Call(..)) {
                continue;
            }
            let took = ran.end.min(to).saturating_sub(ran.since.max(from));
            match ran.what.is_queued() {
                true => before.messages += 1,
                false => before.not_queued += 1,
            }
            before.busy = before.busy.saturating_add(took);
            let new = || (ran.what, MessageKind { name: String::new(), count: 0, total: 0, longest: 0 });
            let (_, kind) = kinds.entry(ran.what.kind()).or_insert_with(new);
            kind.count += 1;
            kind.total = kind.total.saturating_add(took);
            kind.longest = kind.longest.max(took);
        }
        let mut kinds: Vec<(What, MessageKind)> = kinds.into_values().collect();
        kinds.sort_by_key(|(what, kind)| (std::cmp::Reverse(kind.total), what.kind()));
        kinds.truncate(8);
        let name = |(what, kind): (What, MessageKind)| MessageKind { name: name(what), ..kind };
        before.kinds = kinds.into_iter().map(name).collect();
        before
    }
}
