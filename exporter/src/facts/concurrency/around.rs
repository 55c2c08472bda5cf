//! What surrounds the steps on their threads: the calls in which tasks begin, the waits, and the messages.

use std::collections::HashMap;

use trace_format::event::{ConcurrencyStep, Message, Wait};
use trace_format::{Event, ids};

use super::Newest;
use crate::facts::{Change, Open, OpenStack, Payload};

/// Maximum number of waits, messages, outermost calls and starts of tasks kept of each, the newest ones.
const MAX_OF_EACH: usize = 1 << 16;

/// The time in which a thread runs a task, or is in an outermost call that may be one.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Run {
    /// Index of the thread.
    pub(crate) thread: usize,
    pub(crate) begun: u64,
    pub(crate) ended: Option<u64>,
    /// The method that is the task's code.
    pub(crate) method: u32,
    /// What this code does: bits of [`Concurrency`](trace_format::event::Concurrency).
    pub(crate) does: u16,
}

/// A wait of a thread.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Waiting {
    /// Index of the thread.
    pub(crate) thread: usize,
    /// The wait's number on that thread ([`OpenStack::number`]).
    pub(crate) number: u64,
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
    /// The message's number on that thread ([`OpenStack::number`]).
    pub(crate) number: u64,
    pub(crate) at: u64,
    pub(crate) message: Message,
    /// The first object whose own code began to run in it, 0 if none did: the Runnable that was posted.
    pub(crate) object: u32,
}

/// The context of the steps of all threads, collected from their changes, one thread after another.
#[derive(Debug)]
pub(super) struct Around {
    /// Once finished, by thread and time.
    pub(super) waits: Newest<Waiting>,
    /// Once finished, by time.
    pub(super) messages: Newest<Dispatched>,
    /// Outermost calls of all threads but main, once finished by time: the starts of tasks that are no lambdas.
    pub(super) calls: Newest<Run>,
    /// The call whose entry came right before a task began, by its thread and that moment: when, and its method.
    pub(super) entered: HashMap<(usize, u64), (u64, u32)>,
}

impl Default for Around {
    fn default() -> Self {
        let (waits, messages) = (Newest::new(MAX_OF_EACH), Newest::new(MAX_OF_EACH));
        Self { waits, messages, calls: Newest::new(MAX_OF_EACH), entered: HashMap::new() }
    }
}

impl Around {
    /// The changes of this thread follow.
    pub(super) fn thread(&mut self, thread: usize) -> AroundThread<'_> {
        AroundThread { all: self, thread, last: None, message: None, methods: 0, outermost: None }
    }

    /// All threads were seen.
    pub(super) fn finish(&mut self) {
        self.waits.sort(|wait| (wait.thread, wait.begun, wait.number));
        self.messages.sort(|message| message.at);
        self.calls.sort(|call| call.begun);
    }
}

/// One thread's part.
#[derive(Debug)]
pub(super) struct AroundThread<'a> {
    all: &'a mut Around,
    thread: usize,
    /// The call that the last event entered.
    last: Option<(u64, u32)>,
    message: Option<Dispatched>,
    /// The number of open calls, and the outermost of them if its begin was recorded.
    methods: usize,
    outermost: Option<Run>,
}

impl AroundThread<'_> {
    pub(super) fn change(&mut self, change: &Change<'_>, items: &OpenStack) {
        let last = self.last.take();
        match *change {
            Change::Opened { open, .. } if ids::is_method(open.key) => self.entered(open),
            Change::Closed { open, until, .. } if ids::is_method(open.key) => {
                self.methods -= 1;
                self.left(Some(until));
            }
            Change::Opened { open, payload: Some(Payload::Message(message)) } => {
                self.message_ends();
                let (number, thread) = (items.next_number(), self.thread);
                let dispatched = Dispatched { thread, number, at: open.begun, message: *message, object: 0 };
                self.message = (message.is_queued() && message.handler != 0).then_some(dispatched);
            }
            Change::Closed { payload: Some(Payload::Message(_)), .. } => self.message_ends(),
            Change::Closed { open, payload: Some(Payload::Wait(wait)), until, .. } => {
                let number = items.number(items.depth() - 1).unwrap_or_default();
                self.waited((number, open.begun, *wait), Some(until));
            }
            Change::Event { time, event: Event::Concurrency(what) }
                if what.step == ConcurrencyStep::Started =>
            {
                let room = self.all.entered.len() < MAX_OF_EACH;
                if let Some(entered) = last.filter(|(_, id)| *id == what.method && room) {
                    self.all.entered.insert((self.thread, time), entered);
                }
                // What runs later in the message was called by what runs first.
                if let Some(message) = &mut self.message {
                    message.object = what.object;
                }
                self.message_ends();
            }
            // What runs now may be another message's.
            Change::Lost { .. } | Change::Fault => self.message_ends(),
            _ => {}
        }
    }

    fn entered(&mut self, open: Open) {
        let Open { key: method, begun, before } = open;
        if !before {
            self.last = Some((begun, method));
            let run = Run { thread: self.thread, begun, ended: None, method, does: 0 };
            self.outermost = self.outermost.or((self.methods == 0).then_some(run));
        }
        self.methods += 1;
    }

    /// Keeps the outermost call if it has ended, or is open at the end.
    fn left(&mut self, ended: Option<u64>) {
        if (self.methods == 0 || ended.is_none())
            && let Some(call) = self.outermost.take()
        {
            self.all.calls.push(Run { ended, ..call });
        }
    }

    fn message_ends(&mut self) {
        self.message.take().into_iter().for_each(|message| self.all.messages.push(message));
    }

    fn waited(&mut self, (number, begun, wait): (u64, u64, Wait), ended: Option<u64>) {
        self.all.waits.push(Waiting { thread: self.thread, number, begun, ended, wait });
    }

    /// The thread has no more changes: these items are still open.
    pub(super) fn finish(mut self, items: &OpenStack) {
        items.waits().for_each(|wait| self.waited(wait, None));
        self.message_ends();
        self.left(None);
    }
}
