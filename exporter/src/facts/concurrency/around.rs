//! What surrounds the steps on their threads: the calls in which tasks begin, the waits, and the messages.

use std::collections::HashMap;

use trace_format::Event;
use trace_format::event::{ConcurrencyStep, Message, Wait};

use super::Newest;
use crate::facts::survey::MAX_NESTED;

/// Maximum number of waits, messages and starts of tasks kept of each, the newest ones.
const MAX_OF_EACH: usize = 1 << 16;

/// A wait of a thread.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Waiting {
    /// Index of the thread.
    pub(crate) thread: usize,
    /// Index among that thread's waits, from 0.
    pub(crate) ordinal: u64,
    pub(crate) begun: u64,
    /// `None` if it was open at the end.
    pub(crate) ended: Option<u64>,
    pub(crate) wait: Wait,
}

impl Waiting {
    /// Whether the thread was in this wait at a moment.
    pub(crate) fn is_open_at(&self, at: u64) -> bool {
        self.begun <= at && self.ended.is_none_or(|ended| at < ended)
    }
}

/// A message that a thread dispatched.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Dispatched {
    pub(crate) thread: usize,
    /// Index among that thread's messages, from 0.
    pub(crate) ordinal: u64,
    pub(crate) at: u64,
    pub(crate) message: Message,
    /// The first object whose own code began to run in it, 0 if none did: the Runnable that was posted.
    pub(crate) object: u32,
}

/// The context of the steps of all threads.
#[derive(Debug, Default)]
pub(super) struct Surroundings {
    /// By thread and time.
    pub(super) waits: Vec<Waiting>,
    /// By time.
    pub(super) messages: Vec<Dispatched>,
    /// The call whose entry came right before a task began, by its thread and that moment: when, and its method.
    pub(super) entered: HashMap<(usize, u64), (u64, u32)>,
}

/// Collects them from the events of all threads, one thread after another.
#[derive(Debug)]
pub(super) struct Around {
    waits: Newest<Waiting>,
    messages: Newest<Dispatched>,
    entered: HashMap<(usize, u64), (u64, u32)>,
    thread: usize,
    /// The call that the last event entered.
    last: Option<(u64, u32)>,
    open: Vec<Waiting>,
    message: Option<Dispatched>,
    next: (u64, u64),
}

impl Around {
    pub(super) fn new() -> Self {
        Self {
            waits: Newest::new(MAX_OF_EACH),
            messages: Newest::new(MAX_OF_EACH),
            entered: HashMap::new(),
            thread: 0,
            last: None,
            open: Vec::new(),
            message: None,
            next: (0, 0),
        }
    }

    /// The events of this thread follow.
    pub(super) fn thread(&mut self, thread: usize) {
        self.flush();
        (self.thread, self.next) = (thread, (0, 0));
    }

    fn flush(&mut self) {
        for wait in std::mem::take(&mut self.open) {
            self.waits.push(wait);
        }
        self.lost();
    }

    /// Events are missing here.
    pub(super) fn lost(&mut self) {
        self.last = None;
        // What runs now may be another message's.
        if let Some(message) = self.message.take() {
            self.messages.push(message);
        }
    }

    pub(super) fn event(&mut self, at: u64, event: &Event) {
        let last = self.last.take();
        let thread = self.thread;
        match *event {
            Event::Enter(id) => self.last = Some((at, id)),
            Event::Concurrency(what) if what.step == ConcurrencyStep::Started => {
                let room = self.entered.len() < MAX_OF_EACH;
                if let Some(entered) = last.filter(|(_, id)| *id == what.method && room) {
                    self.entered.insert((thread, at), entered);
                }
                // What runs later in the message was called by what runs first.
                if let Some(mut message) = self.message.take() {
                    message.object = what.object;
                    self.messages.push(message);
                }
            }
            Event::MessageBegin(message) => {
                let ordinal = self.next.1;
                self.next.1 += 1;
                self.lost();
                let dispatched = Dispatched { thread, ordinal, at, message, object: 0 };
                self.message = (message.is_queued() && message.handler != 0).then_some(dispatched);
            }
            Event::MessageEnd => self.lost(),
            Event::WaitBegin(wait) => {
                let ordinal = self.next.0;
                self.next.0 += 1;
                if self.open.len() < MAX_NESTED {
                    self.open.push(Waiting { thread, ordinal, begun: at, ended: None, wait });
                }
            }
            Event::WaitEnd => {
                if let Some(wait) = self.open.pop() {
                    self.waits.push(Waiting { ended: Some(at), ..wait });
                }
            }
            _ => {}
        }
    }

    /// All events were seen.
    pub(super) fn finish(mut self) -> Surroundings {
        self.flush();
        let (mut waits, mut messages) = (self.waits.into_vec(), self.messages.into_vec());
        waits.sort_by_key(|wait| (wait.thread, wait.begun, wait.ordinal));
        messages.sort_by_key(|message| message.at);
        Surroundings { waits, messages, entered: self.entered }
    }
}
