//! One thread: words in, balanced slices out.

use std::borrow::Cow;
use std::collections::HashMap;

use trace_format::event::{Frame, Message, Wait, WaitKind, types};
use trace_format::{Event, Item, Recording, Source, TextId, ids};

use super::labels::{self, known, text};
use super::owners::Owners;
use super::recorder::{Pause, Processor, RecorderFacts};
use super::sink::{Arg, Name, ProcessInfo, Sink, Value};
use super::stack::{Open, OpenStack, typed};
use super::survey::MAX_TIME;
use super::{MAX_DEPTH, Names, Tally};
use crate::ExportError;

/// What all threads of a recording share.
pub(crate) struct Shared<'a, S> {
    pub(crate) recording: &'a Recording<S>,
    pub(crate) names: Names<'a>,
    pub(crate) process: &'a ProcessInfo,
    pub(crate) owners: Owners,
    pub(crate) facts: RecorderFacts,
    pub(crate) pauses: Vec<Pause>,
    /// The trace's first moment: nothing is shown earlier.
    pub(crate) start: u64,
}

/// Turns one thread's words into calls of a sink.
pub(crate) struct ThreadPass<'a, S, K> {
    shared: &'a Shared<'a, S>,
    sink: &'a mut K,
    stack: &'a mut OpenStack,
    tally: &'a mut Tally,
    /// Names of the messages that began at these moments.
    asked: &'a mut HashMap<u64, Option<String>>,
    thread: usize,
    /// How far below the deepest shown slice the stack went since that slice began.
    cut: usize,
    waits: u64,
    now: u64,
    /// Whether the thread has had an event.
    begun: bool,
    /// The pauses that are not over yet.
    pauses: &'a [Pause],
}

impl<'a, S: Source, K: Sink> ThreadPass<'a, S, K> {
    pub(crate) fn new(
        shared: &'a Shared<'a, S>,
        sink: &'a mut K,
        stack: &'a mut OpenStack,
        tally: &'a mut Tally,
        asked: &'a mut HashMap<u64, Option<String>>,
        thread: usize,
    ) -> Self {
        stack.clear();
        let now = shared.start;
        let pauses = &shared.pauses;
        Self { shared, sink, stack, tally, asked, thread, cut: 0, waits: 0, now, begun: false, pauses }
    }

    /// Streams the thread; what is still open is closed at `end`.
    pub(crate) fn run(mut self, end: u64) -> Result<(), ExportError> {
        let recording = self.shared.recording;
        for item in recording.events(&recording.threads()[self.thread]) {
            match item.map_err(unplaced)? {
                Item::Event { time, event } => {
                    // Times rise, so that one beyond the limits stays at the limit.
                    let at = time.clamp(self.now, MAX_TIME);
                    self.tally.clamped += u64::from(at != time);
                    if self.pauses.first().is_some_and(|pause| pause.begin < at) {
                        self.paused_until(at)?;
                    }
                    self.begun = true;
                    self.now = at;
                    self.event(at, &event)?;
                }
                Item::Lost { words } => {
                    self.tally.lost_words = self.tally.lost_words.saturating_add(words);
                    self.tally.instants += 1;
                    let args = [Arg::new("words", Value::Uint(words))];
                    self.sink.instant(self.now, Name::Text("words lost"), &args)?;
                }
                Item::Fault(_) => self.tally.faults += 1,
            }
        }
        let end = end.max(self.now);
        self.paused_until(end)?;
        self.tally.incomplete += self.stack.depth().min(MAX_DEPTH) as u64;
        self.close_to(0, end, true)
    }

    /// Shows the pauses between the last event and `at`, so that nobody takes the gap for idle time. Some events may lie
    /// inside of a pause: what was under way when it began was still recorded.
    fn paused_until(&mut self, at: u64) -> Result<(), ExportError> {
        while let Some(pause) = self.pauses.first().filter(|pause| pause.begin < at) {
            let (begin, end) = (pause.begin.max(self.now), pause.end.unwrap_or(at).min(at));
            if self.begun && begin < end && self.stack.depth() < MAX_DEPTH {
                self.tally.slices += 1;
                self.sink.begin(begin, Name::Text("recording paused"), &[])?;
                self.sink.end(end, &[])?;
                self.now = end;
            }
            if pause.end.is_none_or(|end| end > at) {
                break;
            }
            self.pauses = &self.pauses[1..];
        }
        Ok(())
    }

    #[inline]
    fn event(&mut self, at: u64, event: &Event) -> Result<(), ExportError> {
        match *event {
            Event::Enter(id) => {
                if id == ids::DISPATCH && self.asked.get(&at).is_some_and(Option::is_none) {
                    self.asked.insert(at, Some(self.shared.names.method(id).into_owned()));
                }
                let names = self.shared.names;
                self.open(at, id, Name::Method(id, &names), &[])
            }
            Event::Exit(id) => self.close(at, id),
            _ => self.typed_event(at, event),
        }
    }

    fn typed_event(&mut self, at: u64, event: &Event) -> Result<(), ExportError> {
        let texts = self.shared.recording.texts();
        match *event {
            Event::MessageBegin(message) => self.message(at, &message),
            Event::FrameBegin(frame) => self.frame(at, &frame),
            Event::StageBegin(stage) => {
                let (name, constant) = labels::stage_names(stage);
                let args = [Arg::new("stage", Value::Text(constant))];
                self.open(at, typed(stage as u8), Name::Text(name), &args)
            }
            Event::WaitBegin(wait) => self.wait(at, &wait),
            Event::SpanBegin(id) => {
                let name = text(texts, id, "span");
                self.open(at, typed(types::SPAN), Name::Text(&name), &[])
            }
            Event::IdleBegin(id) => {
                let name = format!("IdleHandler: {}", text(texts, id, "?"));
                self.open(at, typed(types::IDLE), Name::Text(&name), &[])
            }
            Event::MessageEnd => self.close(at, typed(types::MESSAGE)),
            Event::FrameEnd => self.close(at, typed(types::FRAME)),
            Event::StageEnd(stage) => self.close(at, typed(stage as u8)),
            Event::WaitEnd => self.close(at, typed(types::WAIT)),
            Event::SpanEnd => self.close(at, typed(types::SPAN)),
            Event::IdleEnd => self.close(at, typed(types::IDLE)),
            Event::Mark(id) => self.instant(at, &text(texts, id, "mark"), &[]),
            Event::Focus(id, gained) => {
                let class = text(texts, id, "?");
                let name = format!("window focus {}: {class}", if gained { "gained" } else { "lost" });
                self.instant(at, &name, &[Arg::new("activity", Value::Text(&class))])
            }
            Event::Counter(id, value) if value.is_finite() => {
                self.tally.counters += 1;
                self.sink.counter(at, &text(texts, id, "counter"), value)
            }
            Event::Time(_) => Ok(()),
            _ => {
                self.tally.skipped += 1;
                Ok(())
            }
        }
    }

    fn message(&mut self, at: u64, message: &Message) -> Result<(), ExportError> {
        let texts = self.shared.recording.texts();
        let name = labels::message_name(texts, message);
        if let Some(asked) = self.asked.get_mut(&at) {
            *asked = Some(name.clone());
        }
        let target = known(texts, message.target);
        let callback = known(texts, message.callback);
        let mut args = Vec::with_capacity(4);
        args.extend(target.as_deref().map(|t| Arg::new("target", Value::Text(t))));
        args.extend(callback.as_deref().map(|c| Arg::new("callback", Value::Text(c))));
        args.push(Arg::new("what", Value::Int(message.what.into())));
        if message.due > 0 {
            args.push(Arg::new("queue_delay_ms", Value::Millis(at.saturating_sub(message.due))));
        }
        self.open(at, typed(types::MESSAGE), Name::Text(&name), &args)
    }

    fn frame(&mut self, at: u64, frame: &Frame) -> Result<(), ExportError> {
        let name = format!("Choreographer#doFrame {}", frame.vsync);
        let mut args = Vec::with_capacity(3);
        if frame.intended > 0 {
            args.push(Arg::new("intended_vsync_ns", Value::Uint(frame.intended)));
            args.push(Arg::new("vsync_delay_ms", Value::Millis(at.saturating_sub(frame.intended))));
        }
        if frame.interval > 0 {
            args.push(Arg::new("interval_ms", Value::Millis(frame.interval)));
        }
        self.open(at, typed(types::FRAME), Name::Once(&name), &args)
    }

    fn wait(&mut self, at: u64, wait: &Wait) -> Result<(), ExportError> {
        let ordinal = self.waits;
        self.waits += 1;
        let texts = self.shared.recording.texts();
        let class = known(texts, wait.class);
        let lock = labels::lock_text(wait.lock);
        let threads = self.shared.recording.threads();
        let owner = threads.iter().position(|t| wait.owner > 0 && t.uid == wait.owner);
        let owner = owner.map(|i| &self.shared.process.threads[i]);
        let owner_name = owner.and_then(|o| o.name.as_deref()).unwrap_or("unknown");
        let name = match owner {
            Some(owner) if wait.kind == WaitKind::Monitor => {
                let names = &self.shared.names;
                let owner_in = self.shared.owners.method(self.thread, ordinal);
                let blocked_in = self.stack.innermost_method();
                Cow::Owned(labels::contention_name(
                    owner_name,
                    owner.tid,
                    (&names.pretty(owner_in), &names.place(owner_in)),
                    (&names.pretty(blocked_in), &names.place(blocked_in)),
                ))
            }
            _ => Cow::Borrowed(labels::wait_name(wait.kind, class.as_deref())),
        };
        let mut args = Vec::with_capacity(5);
        if let Some(owner) = owner {
            args.push(Arg::new("owner_tid", Value::Uint(owner.tid.into())));
            args.push(Arg::new("owner_name", Value::Text(owner_name)));
        }
        if wait.lock > 0 {
            args.push(Arg::new("lock", Value::Text(&lock)));
        }
        if let Some(class) = class.as_ref().filter(|_| wait.kind != WaitKind::Blocking) {
            args.push(Arg::new("lock_class", Value::Text(class)));
        }
        self.open(at, typed(types::WAIT), Name::Text(&name), &args)
    }

    fn instant(&mut self, at: u64, name: &str, args: &[Arg<'_>]) -> Result<(), ExportError> {
        self.tally.instants += 1;
        self.sink.instant(at, Name::Text(name), args)
    }

    #[inline]
    fn open(&mut self, at: u64, key: u32, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError> {
        self.tally.events += 1;
        let depth = self.stack.depth();
        let remembered = self.stack.push(key, at);
        if depth >= MAX_DEPTH || !remembered {
            self.tally.cut_depth += 1;
            self.cut = self.cut.max(depth + 1 - MAX_DEPTH);
            return Ok(());
        }
        self.tally.slices += 1;
        self.sink.begin(at, name, args)
    }

    #[inline]
    fn close(&mut self, at: u64, key: u32) -> Result<(), ExportError> {
        self.tally.events += 1;
        let Some(depth) = self.stack.find(key) else {
            self.tally.orphan_exits += 1;
            return Ok(());
        };
        self.tally.unbalanced += (self.stack.depth() - depth - 1) as u64;
        self.close_to(depth, at, false)
    }

    /// Closes all frames from `depth` inwards, innermost first.
    #[inline]
    fn close_to(&mut self, depth: usize, at: u64, incomplete: bool) -> Result<(), ExportError> {
        while self.stack.depth() > depth {
            let closed = self.stack.pop();
            let level = self.stack.depth();
            if level >= MAX_DEPTH {
                continue;
            }
            let processor = closed.and_then(|closed| self.processor(&closed, at));
            if self.cut == 0 && !incomplete && processor.is_none() {
                self.sink.end(at, &[])?;
                continue;
            }
            let mut args = Vec::with_capacity(8);
            if incomplete {
                args.push(Arg::new("incomplete", Value::Bool(true)));
            }
            if level == MAX_DEPTH - 1 && self.cut > 0 {
                args.push(Arg::new("truncated_depth", Value::Uint(self.cut as u64)));
                self.cut = 0;
            }
            if let Some(processor) = &processor {
                args.extend(labels::processor_args(processor));
            }
            self.sink.end(at, &args)?;
        }
        Ok(())
    }

    /// What main used of the processor in a message that ends at `at`, if it was looked at: only late ones are.
    #[inline]
    fn processor(&self, closed: &Open, at: u64) -> Option<Processor> {
        let message = closed.key == ids::DISPATCH || closed.key == typed(types::MESSAGE);
        if !message || !self.shared.facts.has_usage() {
            return None;
        }
        self.shared.facts.processor(self.shared.recording.threads()[self.thread].tid, closed.begun, at)
    }
}

/// A reader's error before it is known which file it is about.
pub(crate) fn unplaced(source: trace_format::ReadError) -> ExportError {
    ExportError::Recording { file: std::path::PathBuf::new(), source }
}

/// The text behind a notice of the recorder.
pub(crate) fn notice<S: Source>(recording: &Recording<S>, id: TextId) -> Option<Cow<'_, str>> {
    known(recording.texts(), id)
}
