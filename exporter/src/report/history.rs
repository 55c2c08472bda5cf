//! What main did in the last seconds: its messages, and in the message that is open its waits.

use std::collections::{HashMap, VecDeque};

use trace_format::Texts;
use trace_format::event::{Event, Message, Wait};
use trace_format::ids;

use super::messages::told_name;

/// How far back "before" reaches, ns.
pub(super) const BEFORE: u64 = 10_000_000_000;
/// How far back is remembered, ns.
const REMEMBERED: u64 = 30_000_000_000;
/// Messages, and waits of one message, that are remembered.
const MAX_MESSAGES: usize = 1 << 16;
const MAX_WAITS: usize = 4096;

/// A message that has ended.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Ran {
    since: u64,
    end: u64,
    message: Message,
}

/// A wait that has ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Waited {
    pub(super) wait: Wait,
    pub(super) since: u64,
    pub(super) end: u64,
}

/// A kind of message in a stretch of time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageKind {
    /// Its name.
    pub name: String,
    /// How many ran.
    pub count: u64,
    /// How long all of them took, ns.
    pub total: u64,
    /// How long the longest took, ns.
    pub longest: u64,
}

/// What ran in a stretch of time.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Before {
    /// When the stretch begins, and ends.
    pub from: u64,
    /// Its end.
    pub to: u64,
    /// Messages that ran.
    pub messages: u64,
    /// How long they took together, ns.
    pub busy: u64,
    /// By kind, those that took longest first; at most eight.
    pub kinds: Vec<MessageKind>,
}

#[derive(Debug, Default)]
pub(super) struct History {
    ran: VecDeque<Ran>,
    depth: u32,
    open: (u64, Message),
    waits: Vec<Waited>,
    wait: Option<(Wait, u64)>,
    /// Events in the open message, and when the last one was.
    pub(super) events: u64,
    pub(super) last: u64,
}

impl History {
    pub(super) fn event(&mut self, at: u64, event: &Event) {
        self.events += 1;
        self.last = at;
        match *event {
            Event::MessageBegin(message) => self.begin(at, message),
            Event::Enter(ids::DISPATCH) => self.begin(at, Message::default()),
            Event::MessageEnd | Event::Exit(ids::DISPATCH) => self.end(at),
            Event::WaitBegin(wait) if self.wait.is_none() => self.wait = Some((wait, at)),
            Event::WaitEnd => {
                if let Some((wait, since)) = self.wait.take()
                    && self.waits.len() < MAX_WAITS
                {
                    self.waits.push(Waited { wait, since, end: at });
                }
            }
            _ => {}
        }
    }

    fn begin(&mut self, at: u64, message: Message) {
        self.depth += 1;
        if self.depth == 1 {
            self.open = (at, message);
            self.waits.clear();
            self.wait = None;
            self.events = 0;
        }
    }

    fn end(&mut self, at: u64) {
        match self.depth {
            0 => return,
            1 => {}
            _ => {
                self.depth -= 1;
                return;
            }
        }
        self.depth = 0;
        self.ran.push_back(Ran { since: self.open.0, end: at, message: self.open.1 });
        let old = |ran: &Ran| at.saturating_sub(ran.end) > REMEMBERED;
        while self.ran.len() > MAX_MESSAGES || self.ran.front().is_some_and(old) {
            self.ran.pop_front();
        }
    }

    /// The waits of the open message, closed at `at` where one is open.
    pub(super) fn waits(&self, at: u64) -> impl Iterator<Item = Waited> {
        let open = self.wait.map(|(wait, since)| Waited { wait, since, end: at.max(since) });
        self.waits.iter().copied().chain(open)
    }

    /// What ran between two moments, cut to them.
    pub(super) fn between(&self, from: u64, to: u64, texts: &Texts) -> Before {
        let mut kinds: HashMap<(u32, u32, i32), (Message, MessageKind)> = HashMap::new();
        let mut before = Before { from, to, ..Before::default() };
        for ran in self.ran.iter().filter(|ran| ran.end > from && ran.since < to) {
            let took = ran.end.min(to).saturating_sub(ran.since.max(from));
            before.messages += 1;
            before.busy = before.busy.saturating_add(took);
            let m = ran.message;
            let what = if m.callback.0 > 0 { 0 } else { m.what };
            let new = || (m, MessageKind { name: String::new(), count: 0, total: 0, longest: 0 });
            let (_, kind) = kinds.entry((m.target.0, m.callback.0, what)).or_insert_with(new);
            kind.count += 1;
            kind.total = kind.total.saturating_add(took);
            kind.longest = kind.longest.max(took);
        }
        let mut kinds: Vec<(Message, MessageKind)> = kinds.into_values().collect();
        kinds.sort_by_key(|(m, kind)| (std::cmp::Reverse(kind.total), m.target, m.callback, m.what));
        kinds.truncate(8);
        let name = |(m, kind): (Message, MessageKind)| MessageKind { name: name(texts, &m), ..kind };
        before.kinds = kinds.into_iter().map(name).collect();
        before
    }
}

fn name(texts: &Texts, message: &Message) -> String {
    if *message == Message::default() {
        // A message that is entered and left like a method has no other name.
        return "android.os.Handler.dispatchMessage".to_owned();
    }
    told_name(texts, message)
}
