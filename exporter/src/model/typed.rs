//! Typed events of a thread: messages, frames, stages and waits with their arguments.

use std::borrow::Cow;

use answers::waited::Waited;
use trace_format::event::{Frame, Message, Stage, Wait, WaitKind, types};

use super::categories;
use super::flows::{MIN_MESSAGE_DELAY, late_event};
use super::labels::{self, known};
use super::measured_stages::MeasuredStages;
use super::sink::{Arg, Name, Sink, Value};
use super::tasks::{PostedBy, WaitArgs};
use super::thread::{MAX_DEPTH, ThreadPass};
use crate::ExportError;
use crate::facts::{Open, OpenStack, typed};

impl<K: Sink> ThreadPass<'_, '_, K> {
    pub(super) fn message(
        &mut self,
        at: u64,
        message: &Message,
        items: &OpenStack,
    ) -> Result<(), ExportError> {
        let texts = self.shared.recording.texts();
        let name = labels::message_name(texts, message);
        if self.main {
            if let Some(wanted_names) = self.found.wanted_names.get_mut(&at) {
                *wanted_names = Some(name.clone());
            }
            if self.found.history.is_kept() && !self.is_in_message() {
                self.message.clone_from(&name);
            }
        }
        let target = known(texts, message.target);
        let callback = known(texts, message.callback);
        let handler = format!("{:x}", message.handler);
        let mut args = Vec::with_capacity(6);
        args.extend(target.as_deref().map(|t| Arg::new("target", Value::Text(t))));
        args.extend(callback.as_deref().map(|c| Arg::new("callback", Value::Text(c))));
        if message.is_queued() {
            args.push(Arg::new("what", Value::Int(message.what.into())));
        } else {
            args.push(Arg::new("queued", Value::Bool(false)));
        }
        if message.handler > 0 && message.is_queued() {
            // The system writes identity hash codes in this form, and a number would look like a count.
            args.push(Arg::new("handler", Value::Text(&handler)));
        }
        if message.due > 0 {
            let late = at.saturating_sub(message.due);
            args.push(Arg::new("queue_delay_ms", Value::Millis(late)));
            if late >= MIN_MESSAGE_DELAY {
                let (list, due) = (&mut self.found.late_messages, || format!("due: {name}"));
                let flow = late_event(list, self.shared.flows, message.due, late, due);
                args.extend(flow.map(Arg::flow));
            }
        }
        let posted = self.posted(at, items.next_number());
        args.extend(posted.iter().flat_map(PostedBy::args));
        if self.main
            && let Some(answer) = self.shared.answer.as_ref().filter(|answer| answer.since == Some(at))
        {
            args.extend(answer.args());
        }
        self.open(at, typed(types::MESSAGE), Name::Text(&name), &args)
    }

    pub(super) fn frame(&mut self, at: u64, frame: &Frame) -> Result<(), ExportError> {
        let frame = &self.shared.survey.frames.known(at, frame);
        let name = format!("Choreographer#doFrame {}", frame.vsync);
        let mut args = Vec::with_capacity(3);
        if frame.intended > 0 {
            args.push(Arg::new("intended_vsync_ns", Value::Uint(frame.intended)));
            let late = at.saturating_sub(frame.intended);
            args.push(Arg::new("vsync_delay_ms", Value::Millis(late)));
            if frame.interval > 0 && late > frame.interval {
                let (list, vsync) = (&mut self.found.late_vsyncs, || format!("VSYNC {}", frame.vsync));
                let flow = late_event(list, self.shared.flows, frame.intended, late, vsync);
                args.extend(flow.map(Arg::flow));
            }
        }
        if frame.interval > 0 {
            args.push(Arg::new("interval_ms", Value::Millis(frame.interval)));
        }
        let bounds = self.shared.survey.frames.bounds(at, frame).filter(|_| frame.estimated);
        // Then nothing of it is estimated.
        self.frames.begin(at, Frame { estimated: frame.estimated && bounds.is_none(), ..*frame });
        self.open(at, typed(types::FRAME), Name::Once(&name), &args)?;
        self.measured = bounds.map(|bounds| MeasuredStages::new(bounds, self.shown.len()));
        Ok(())
    }

    pub(super) fn wait(&mut self, at: u64, wait: &Wait, items: &OpenStack) -> Result<(), ExportError> {
        let number = items.next_number();
        let texts = self.shared.recording.texts();
        let class = known(texts, wait.class);
        let lock = labels::lock_text(wait.lock);
        let threads = self.shared.recording.threads();
        let owner = threads.iter().position(|t| wait.owner > 0 && t.uid == wait.owner);
        let owner = owner.map(|i| &self.shared.process.threads[i]);
        let known = self.shared.owners.wait(self.thread, number);
        let owner_name = owner.and_then(|o| o.name.as_deref()).unwrap_or("unknown");
        let name = match owner {
            Some(owner) if wait.kind == WaitKind::Monitor => {
                let names = &self.shared.names;
                let owner_in = known.and_then(|known| known.method);
                let blocked_in = items.innermost_method();
                Cow::Owned(labels::contention_name(
                    owner_name,
                    owner.tid,
                    (&names.pretty(owner_in), &names.place(owner_in)),
                    (&names.pretty(blocked_in), &names.place(blocked_in)),
                ))
            }
            _ => labels::wait_name(wait.kind, wait.call),
        };
        let mut args = Vec::with_capacity(7);
        let waited = Waited { kind: wait.kind, call: wait.call, class: class.as_deref() };
        let category = self.categories.entry((wait.kind, wait.call, wait.class));
        args.push(Arg::category(category.or_insert_with(|| categories::of_wait(waited))));
        if let Some(owner) = owner {
            args.push(Arg::new("owner_tid", Value::Uint(owner.tid.into())));
            args.push(Arg::new("owner_name", Value::Text(owner_name)));
        }
        if wait.lock > 0 {
            args.push(Arg::new("lock", Value::Text(&lock)));
        }
        if let Some(class) = &class {
            let name = if wait.kind == WaitKind::Blocking { "class" } else { "lock_class" };
            args.push(Arg::new(name, Value::Text(class)));
        }
        let task = self.shared.wait_args(self.thread, number);
        args.extend(task.iter().flat_map(WaitArgs::args));
        let name = task.as_ref().and_then(|task| task.name(&name)).map_or(name, Cow::Owned);
        self.open(at, typed(types::WAIT), Name::Text(&name), &args)?;
        // Viewers draw an arrow from the end of its source, so it starts at an event without duration.
        if let Some(known) = known.filter(|_| self.shown.len() <= MAX_DEPTH) {
            self.waiting.push((at, known.release));
            self.out.instant(at, &labels::waits_for(owner_name), &[Arg::flow(known.flow)])?;
        }
        Ok(())
    }

    /// Handles the end of a wait.
    pub(super) fn granted(&mut self, wait: &Open, at: u64) -> Result<(), ExportError> {
        while let Some((begun, release)) = self.waiting.pop_if(|(begun, _)| *begun >= wait.begun) {
            if begun == wait.begun && at > begun {
                self.out.instant(at, "has the lock", &[Arg::flow(release)])?;
            }
        }
        Ok(())
    }

    pub(super) fn stage(&mut self, at: u64, stage: Stage) -> Result<(), ExportError> {
        let mut args = Vec::with_capacity(3);
        args.push(Arg::new("stage", Value::Text(stage.constant())));
        if self.frames.estimated() {
            args.push(Arg::new("estimated", Value::Bool(true)));
        }
        if let Some(ns) = self.frames.measured(&self.shared.survey.frames, stage) {
            args.push(Arg::new("measured_ms", Value::Millis(ns)));
        }
        self.open(at, typed(stage as u8), Name::Text(stage.word()), &args)
    }

    /// The arguments at the end of something that is not a method.
    pub(super) fn closed(
        &mut self,
        closed: &Open,
        at: u64,
        args: &mut Vec<Arg<'static>>,
    ) -> Result<(), ExportError> {
        if closed.key == typed(types::FRAME) {
            let (begun, facts) = (closed.begun, &self.shared.survey.frames);
            self.frames.end((begun, at), facts, args, self.out)?;
        } else if closed.key == typed(types::MESSAGE)
            && self.main
            // In a loop within a message it is part of that message.
            && !self.is_in_message()
        {
            if self.found.history.is_kept() {
                self.found.history.message(closed.begun, at, &self.message);
            }
            self.frames.missed((closed.begun, at), self.out)?;
        }
        Ok(())
    }
}
