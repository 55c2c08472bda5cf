//! Converts the changes of one thread to slices.

use std::collections::HashMap;
use std::path::Path;

use trace_format::event::{CallId, Folded, TextId, WaitKind, types};
use trace_format::{Event, Recording, Source, ids};

use super::flows::{Flows, LateEvent};
use super::folded::ShortCalls;
use super::frames::Frames;
use super::labels::{self, text};
use super::log_form;
use super::measured_stages::MeasuredStages;
use super::message_list::MessageList;
use super::owners::Owners;
use super::sink::{Arg, LogLine, LogSource, Name, ProcessInfo, Sink, TallySink, Unit, Value};
use super::tasks::{TaskPlan, Upcoming};
use super::trace_answer::TraceAnswer;
use crate::ExportError;
use crate::facts::{
    Change, EndedBy, Facts, MAX_TIME, MessageComponent, Open, OpenStack, Pause, Payload, PolledCpu, Survey,
    ends, is_message, name_before, typed,
};
use crate::names::Names;

/// Maximum nesting that is displayed. The engine drops deeper slices but not their ends, which would then close
/// the wrong ones, so both are cut here.
pub const MAX_DEPTH: usize = 512;

/// The suffix of a short-call counter, after its thread.
pub(super) const SHORT_CALLS: &str = ": short calls a second";
/// Maximum number of threads per process with a counter of short calls: the first ones, including main.
const MAX_SHORT_COUNTERS: usize = 32;

/// What all threads of a recording share.
pub(crate) struct Shared<'a> {
    /// The recording's file name, for errors.
    pub(crate) file: &'a Path,
    pub(crate) recording: &'a Recording<dyn Source + 'a>,
    pub(crate) names: Names<'a>,
    pub(crate) process: &'a ProcessInfo,
    pub(crate) owners: Owners,
    pub(crate) flows: &'a Flows,
    pub(crate) facts: &'a Facts<'a>,
    pub(crate) survey: &'a Survey,
    /// The answer, if it hung.
    pub(crate) answer: Option<TraceAnswer>,
    /// What the steps of concurrent work add.
    pub(crate) tasks: TaskPlan,
    pub(crate) pauses: Vec<Pause>,
    /// The trace's first moment: nothing is displayed earlier.
    pub(crate) start: u64,
}

/// What the passes over the threads collect for the tracks after them.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Names of main's messages and other units that started at these moments.
    pub(crate) wanted_names: HashMap<u64, Option<String>>,
    /// Messages that were late, at their due times.
    pub(crate) late_messages: Vec<LateEvent>,
    /// Vsyncs whose frames were late.
    pub(crate) late_vsyncs: Vec<LateEvent>,
    /// Main's messages before its ANRs.
    pub(crate) history: MessageList,
    /// Number of threads with a counter of short calls.
    pub(super) short_counters: usize,
}

/// Converts one thread's events to calls of a sink.
pub(crate) struct ThreadPass<'a, 'k, K> {
    pub(super) shared: &'a Shared<'a>,
    pub(super) out: &'a mut TallySink<'k, K>,
    /// The open slices, outermost first, with the moments at which they are shown to begin.
    pub(super) shown: Vec<Open>,
    /// Places of open items that are not shown: skipped frames with their stages, and stages that the system measured.
    hidden: Vec<usize>,
    pub(super) found: &'a mut Found,
    pub(super) frames: Frames,
    /// The bounds of the open frame's stages, if the system measured them.
    pub(super) measured: Option<MeasuredStages>,
    pub(super) thread: usize,
    pub(super) main: bool,
    /// The name of the open message, if it will be listed.
    pub(super) message: String,
    /// How far below the deepest displayed slice the stack went since that slice started.
    cut: usize,
    /// Open waits with a known owner: since when, and the arrow from the release.
    pub(super) waiting: Vec<(u64, u64)>,
    /// The categories of the waits that it has had: to look one up takes longer than to write the wait.
    pub(super) categories: HashMap<(WaitKind, CallId, TextId), &'static str>,
    /// Short calls, by the depth of the enclosing slice, innermost last.
    short: Vec<(usize, ShortCalls)>,
    /// The counter of short calls, and the time until which it is valid.
    short_counter: Option<(String, u64)>,
    pub(super) now: u64,
    /// Whether the thread has had an event.
    begun: bool,
    /// The upcoming and current pauses.
    pauses: &'a [Pause],
    /// Instants of tasks, and calls in which they run.
    pub(super) tasks: Upcoming<'a>,
    /// When the call of the next task is entered.
    pub(super) next_run: u64,
    /// The next time at which something is inserted between the thread's own events.
    between: u64,
    /// The moments, latest first, at which a unit of main started whose name is wanted.
    wanted_names: Vec<u64>,
}

impl<'a, 'k, K: Sink> ThreadPass<'a, 'k, K> {
    pub(super) fn new(
        shared: &'a Shared<'a>,
        out: &'a mut TallySink<'k, K>,
        found: &'a mut Found,
        thread: usize,
    ) -> Self {
        let tasks = Upcoming::of(&shared.tasks, thread);
        let mut pass = Self {
            shared,
            out,
            shown: Vec::new(),
            hidden: Vec::new(),
            found,
            frames: Frames::default(),
            measured: None,
            thread,
            main: shared.recording.threads()[thread].main,
            message: String::new(),
            cut: 0,
            waiting: Vec::new(),
            categories: HashMap::new(),
            short: Vec::new(),
            short_counter: None,
            now: shared.start,
            begun: false,
            pauses: &shared.pauses,
            tasks,
            next_run: tasks.next_run(),
            between: 0,
            wanted_names: Vec::new(),
        };
        if pass.main {
            pass.wanted_names.extend(pass.found.wanted_names.keys());
            pass.wanted_names.sort_unstable_by(|a, b| b.cmp(a));
        }
        pass.look_ahead();
        pass
    }

    fn look_ahead(&mut self) {
        let pause = self.pauses.first().map_or(u64::MAX, |pause| pause.begin);
        self.between = pause.min(self.tasks.next_mark());
    }

    /// Inserts what is due between the last event and one at `at`.
    #[cold]
    fn between(&mut self, at: u64) -> Result<(), ExportError> {
        self.marks_until(at)?;
        self.paused_until(at)?;
        self.look_ahead();
        Ok(())
    }

    /// Streams the thread; what is still open is closed at `end`.
    pub(crate) fn run(mut self, end: u64) -> Result<(), ExportError> {
        let (facts, failed) = (self.shared.facts, ExportError::reading(self.shared.file));
        let mut spans = facts.spans(&self.shared.recording.threads()[self.thread]);
        while let Some((change, items)) = spans.change().map_err(&failed)? {
            if let Some(time) = change.time() {
                self.reach(time)?;
            }
            match change {
                Change::Opened { open, payload } => self.opened(open, payload, items)?,
                Change::Closed { open, by, .. } => self.ended(open.key, by, items.depth() - 1)?,
                Change::Event { event, .. } => self.event(event)?,
                Change::Lost { words } => {
                    self.out.tally.lost_words = self.out.tally.lost_words.saturating_add(words);
                    self.out.instant(self.now, "words lost", &[Arg::new("words", Value::Uint(words))])?;
                }
                Change::Fault => self.out.tally.faults += 1,
            }
        }
        let end = end.max(self.now);
        self.between(end)?;
        let end = end.max(self.now);
        self.marks_at_end(end)?;
        self.out.tally.incomplete += self.shown.len().min(MAX_DEPTH) as u64;
        while !self.shown.is_empty() {
            self.end(end, true)?;
        }
        self.frames.finish(self.out)?;
        match self.short_counter {
            Some((name, until)) => self.out.counter(until, &name, Unit::Count, 0.0),
            None => Ok(()),
        }
    }

    /// Handles calls that left no slice: their rate is a counter, and the innermost slice around all of them
    /// gets their number and methods at its end.
    fn folded(&mut self, at: u64, folded: &Folded) -> Result<(), ExportError> {
        let since = folded.since.max(self.shared.start);
        if since >= at || folded.calls == 0 {
            return Ok(());
        }
        let around = self.shown.partition_point(|open| open.begun <= since).min(MAX_DEPTH);
        if let Some(depth) = around.checked_sub(1) {
            let place = self.short.partition_point(|(of, _)| *of < depth);
            if self.short.get(place).is_none_or(|(of, _)| *of != depth) {
                self.short.insert(place, (depth, ShortCalls::default()));
            }
            self.short[place].1.add(folded);
        }
        if self.short_counter.is_none() {
            if self.found.short_counters >= MAX_SHORT_COUNTERS {
                return Ok(());
            }
            self.found.short_counters += 1;
            let thread = &self.shared.process.threads[self.thread];
            let name = thread.name.as_deref().unwrap_or("thread");
            self.short_counter = Some((format!("{name} ({}){SHORT_CALLS}", thread.tid), since));
        }
        if let Some((name, until)) = &mut self.short_counter {
            if *until < since {
                self.out.counter(*until, name, Unit::Count, 0.0)?;
            }
            let rate = folded.calls as f64 * 1e9 / (at - since) as f64;
            self.out.counter(since.max(*until), name, Unit::Count, rate.round())?;
            *until = at;
        }
        Ok(())
    }

    /// Inserts what precedes an event at `time`, and goes on to the time at which the event is displayed.
    #[inline]
    fn reach(&mut self, time: u64) -> Result<(), ExportError> {
        // Times rise, so one beyond the limits stays at the limit.
        let at = time.clamp(self.now, MAX_TIME);
        self.out.tally.clamped += u64::from(at != time);
        if self.between < at {
            self.between(at)?;
        }
        self.begun = true;
        if self.measured.is_some() {
            self.stages_until(at)?;
        }
        self.now = at;
        Ok(())
    }

    /// Shows an item that was open before the record from its first moment on.
    fn before(&mut self, at: u64, key: u32) -> Result<(), ExportError> {
        let args = [Arg::new("began_before", Value::Bool(true))];
        self.out.tally.began_before += 1;
        if ids::is_method(key) || key == ids::DISPATCH {
            let names = self.shared.names;
            return self.push(at, key, Name::Method(key, &names), &args);
        }
        let name = name_before(key);
        if self.main && key == typed(types::MESSAGE) && !self.is_in_message() {
            self.message.clone_from(&name);
        }
        self.push(at, key, Name::Text(&name), &args)
    }

    /// Returns true inside of a message that is shown.
    pub(super) fn is_in_message(&self) -> bool {
        self.shown.iter().take(MAX_DEPTH).any(|open| open.key == typed(types::MESSAGE))
    }

    /// Shows the pauses between the last event and `at`, so that the gap is not mistaken for idle time. Some
    /// events may be inside a pause: what was under way at its start was still recorded.
    pub(super) fn paused_until(&mut self, at: u64) -> Result<(), ExportError> {
        while let Some(pause) = self.pauses.first().filter(|pause| pause.begin < at) {
            let (begin, end) = (pause.begin.max(self.now), pause.end.unwrap_or(at).min(at));
            if self.begun && begin < end && self.shown.len() < MAX_DEPTH {
                self.out.begin(begin, "recording paused", &[])?;
                self.out.end(end, &[])?;
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
    fn opened(&mut self, new: Open, payload: Option<&Payload>, items: &OpenStack) -> Result<(), ExportError> {
        let at = self.now;
        match payload {
            Some(payload) => self.typed_item(new.key, payload, items),
            None if new.before => self.before(at, new.key),
            None if self.next_run <= new.begun && self.runs_task(new.begun, at, new.key)? => Ok(()),
            None => {
                let names = self.shared.names;
                self.open(at, new.key, Name::Method(new.key, &names), &[])
            }
        }
    }

    fn typed_item(&mut self, key: u32, payload: &Payload, items: &OpenStack) -> Result<(), ExportError> {
        let at = self.now;
        let texts = self.shared.recording.texts();
        let is_hidden = match payload {
            Payload::Frame(_) => self.shared.survey.frames.is_skipped(at),
            Payload::Stage(stage) => match &self.measured {
                Some(_) => MeasuredStages::has(*stage),
                None => !self.hidden.is_empty(),
            },
            _ => false,
        };
        if is_hidden {
            self.hidden.push(items.depth());
            return Ok(());
        }
        match *payload {
            Payload::Message(message) => self.message(at, &message, items),
            Payload::Frame(frame) => self.frame(at, &frame),
            Payload::Stage(stage) => self.stage(at, stage),
            Payload::Wait(wait) => self.wait(at, &wait, items),
            Payload::Text(id) if key == typed(types::IDLE) => {
                let name = format!("IdleHandler: {}", text(texts, id, "?"));
                self.open(at, key, Name::Text(&name), &[])
            }
            Payload::Text(id) => self.open(at, key, Name::Text(&text(texts, id, "span")), &[]),
        }
    }

    /// An event that opens and closes nothing.
    fn event(&mut self, event: &Event) -> Result<(), ExportError> {
        let at = self.now;
        let texts = self.shared.recording.texts();
        match *event {
            // The first pass assigned them to their frames.
            Event::FrameMetrics(_) | Event::InputEvents(_) => Ok(()),
            Event::Mark(id) => {
                let mark = text(texts, id, "mark");
                if let Some((level, tag, message)) = log_form::parse(&mark) {
                    let tid = self.shared.process.threads[self.thread].tid;
                    self.out.sink.log(&LogLine {
                        at,
                        level,
                        source: Some(LogSource { tid, tag }),
                        message,
                    })?;
                }
                self.out.instant(at, &mark, &[])
            }
            Event::Focus(id, gained) => {
                let class = text(texts, id, "?");
                let name = format!("window focus {}: {class}", if gained { "gained" } else { "lost" });
                self.out.instant(at, &name, &[Arg::new("activity", Value::Text(&class))])
            }
            Event::Counter(id, value) if value.is_finite() => {
                let name = text(texts, id, "counter");
                self.out.counter(at, &name, labels::unit_of(&name), value)
            }
            Event::Folded(folded) => self.folded(at, &folded),
            // What is open is already known.
            Event::Time(_) | Event::OpenCalls(_) | Event::LostEnd(_) => Ok(()),
            _ if ends(event).is_some() => {
                self.out.tally.events += 1;
                self.out.tally.orphan_exits += 1;
                Ok(())
            }
            _ => {
                self.out.tally.skipped += 1;
                Ok(())
            }
        }
    }

    #[inline]
    pub(super) fn open(
        &mut self,
        at: u64,
        key: u32,
        name: Name<'_>,
        args: &[Arg<'_>],
    ) -> Result<(), ExportError> {
        self.out.tally.events += 1;
        self.push(at, key, name, args)
    }

    #[inline]
    fn push(&mut self, at: u64, key: u32, name: Name<'_>, args: &[Arg<'_>]) -> Result<(), ExportError> {
        if self.wanted_names.last().is_some_and(|wanted_names| *wanted_names <= at) {
            self.keep_wanted_name(at, &name);
        }
        let depth = self.shown.len();
        self.shown.push(Open { key, begun: at, before: false });
        if depth >= MAX_DEPTH {
            self.out.tally.cut_depth += 1;
            self.cut = self.cut.max(depth + 1 - MAX_DEPTH);
            return Ok(());
        }
        self.out.tally.slices += 1;
        self.out.sink.begin(at, name, args)
    }

    /// Keeps the name of what starts at `at`, if it is wanted: of several the outermost, which comes first.
    #[cold]
    fn keep_wanted_name(&mut self, at: u64, name: &Name<'_>) {
        while self.wanted_names.last().is_some_and(|wanted_names| *wanted_names < at) {
            self.wanted_names.pop();
        }
        if self.wanted_names.last() == Some(&at)
            && let Some(wanted_names) = self.found.wanted_names.get_mut(&at)
        {
            wanted_names.get_or_insert_with(|| name.text().into_owned());
        }
    }

    /// Handles the end of the item at this place.
    #[inline]
    fn ended(&mut self, key: u32, by: EndedBy, place: usize) -> Result<(), ExportError> {
        let at = self.now;
        if self.hidden.pop_if(|hidden| *hidden == place).is_some() {
            return self.end_hidden(at, key);
        }
        if self.measured.is_some() && key == typed(types::FRAME) {
            self.end_measured(at)?;
        }
        match by {
            EndedBy::End | EndedBy::Skipped => return self.close(at),
            EndedBy::Outer => self.out.tally.unbalanced += 1,
            EndedBy::Unrecorded => self.out.tally.incomplete += u64::from(self.shown.len() <= MAX_DEPTH),
        }
        self.end(at, by == EndedBy::Unrecorded)
    }

    /// Ends the innermost slice by an event.
    #[inline]
    pub(super) fn close(&mut self, at: u64) -> Result<(), ExportError> {
        self.out.tally.events += 1;
        self.end(at, false)
    }

    /// Ends the innermost slice.
    #[inline]
    fn end(&mut self, at: u64, incomplete: bool) -> Result<(), ExportError> {
        let Some(closed) = self.shown.pop() else { return Ok(()) };
        let level = self.shown.len();
        if level >= MAX_DEPTH {
            return Ok(());
        }
        let typed_event = Some(closed).filter(|closed| !ids::is_method(closed.key));
        let short = self.short.pop_if(|(depth, _)| *depth >= level).map(|(_, short)| short);
        if self.cut == 0 && !incomplete && typed_event.is_none() && short.is_none() {
            return self.out.end(at, &[]);
        }
        let cpu = typed_event.and_then(|closed| self.cpu(&closed, at));
        let component = typed_event.and_then(|closed| self.component(&closed, at));
        let limit = component.as_ref().and_then(MessageComponent::limit_words);
        let mut args = Vec::new();
        if let Some(closed) = typed_event {
            self.closed(&closed, at, &mut args)?;
        }
        let mostly = short.as_ref().and_then(|short| short.hot().next());
        let mostly = mostly.map(|(id, percent)| format!("{percent} % {}", self.shared.names.method(id)));
        let mut args: Vec<Arg<'_>> = args;
        args.extend(short.map(|short| Arg::new("short_calls", Value::Uint(short.calls))));
        args.extend(mostly.as_deref().map(|text| Arg::new("short_calls_mostly", Value::Text(text))));
        if incomplete {
            args.push(Arg::new("incomplete", Value::Bool(true)));
        }
        if level == MAX_DEPTH - 1 && self.cut > 0 {
            args.push(Arg::new("truncated_depth", Value::Uint(self.cut as u64)));
            self.cut = 0;
        }
        if let Some(cpu) = &cpu {
            args.extend(labels::cpu_args(cpu));
        }
        if let Some(component) = &component {
            args.extend(labels::component_args(component, limit.as_deref()));
        }
        self.out.end(at, &args)?;
        if let Some(wait) = typed_event.filter(|closed| closed.key == typed(types::WAIT) && !incomplete) {
            self.granted(&wait, at)?;
        }
        Ok(())
    }

    /// The component that a message of main ran, if known: only of late ones it is.
    #[inline]
    fn component(&self, closed: &Open, at: u64) -> Option<MessageComponent> {
        let sections = &self.shared.facts.sections;
        if !self.main || closed.key != typed(types::MESSAGE) || sections.components.is_empty() {
            return None;
        }
        sections.components.of_message(closed.begun, at, sections.process.sdk)
    }

    /// Main's CPU time in a message that ends at `at`, if it was polled: only late ones are.
    #[inline]
    fn cpu(&self, closed: &Open, at: u64) -> Option<PolledCpu> {
        if !is_message(closed.key) || !self.shared.facts.recorder.has_usage() {
            return None;
        }
        self.shared.facts.recorder.cpu(self.shared.recording.threads()[self.thread].tid, closed.begun, at)
    }
}
