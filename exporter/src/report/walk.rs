//! Reads one thread with its stack: what was open at the requested moment and at the end, what was slow, and
//! the number of events.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use answers::answer::RecentWork;
use serde::Serialize;
use trace_format::android::IDLE_HANDLER;
use trace_format::event::{Message, types};
use trace_format::{ReadError, TextId, Thread, ids};

use super::chart::{Chart, ChartBuilder};
use super::history::{BEFORE_WINDOW, History, What};
use super::long_call::{LongCalls, Slow};
use super::long_waits::{LongWait, LongWaits, MIN_SLOW};
use super::open_item::{OpenItem, OpenItemKind};
use crate::facts::{
    Change, EndedBy, Facts, Open, OpenStack, Payload, Survey, Unit, UnitKind, is_message, kind_name,
    name_before, typed,
};
use crate::model::{Names, message_name, wait_name};
use crate::words::thread_name;

/// Number of slow items listed.
const MAX_SLOWEST: usize = 8;
/// Number of slow items kept until the time range called "before" is known.
const MAX_SLOW: usize = 4096;
/// Maximum number of frames kept per stack, from the innermost on.
const MAX_STACK: usize = 512;

/// The kinds of slow items. A frame is inside its message.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum SlowKind {
    Message,
    /// A call outside of messages.
    Call,
    Frame,
}

/// The number of recorded things.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Counts {
    /// The number of recorded threads.
    pub threads: u64,
    /// Words of 8 bytes.
    pub words: u64,
    /// Words overwritten by newer ones.
    pub overwritten: u64,
    /// Methods entered on main.
    pub methods: u64,
    /// Messages of main.
    pub messages: u64,
    /// Input events, idle handlers and other work of main outside messages.
    pub not_queued: u64,
    /// Frames of main.
    pub frames: u64,
    /// Frames whose FrameMetrics the system dropped.
    pub frame_metrics_dropped: u64,
    /// Events of all threads.
    #[serde(skip)]
    pub events: u64,
}

/// Something that main was in, from start to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct EndedUnit {
    pub(super) since: u64,
    pub(super) until: u64,
}

/// Reads one thread with its stack.
pub(super) struct Walk<'a> {
    facts: &'a Facts<'a>,
    names: &'a Names<'a>,
    /// The items that are open after the last event.
    open: OpenStack,
    pub(super) now: u64,
    pub(super) history: History,
    pub(super) chart: Option<ChartBuilder>,
    pub(super) counts: Counts,
    pub(super) lost: u64,
    /// The requested moment, and the stack then, if the thread continued after it.
    pub(super) requested_at: Option<u64>,
    pub(super) requested: Option<Vec<OpenItem>>,
    /// The unit that was open at that moment, and its depth.
    pub(super) unit_at_request: Option<Unit>,
    requested_depth: usize,
    /// When that unit ended.
    pub(super) left: Option<u64>,
    /// Another moment at which the unit is requested, and that unit.
    pub(super) at: Option<u64>,
    pub(super) at_unit: Option<Unit>,
    /// The longest message that ended, and the longest call outside of messages.
    longest: [Option<EndedUnit>; 2],
    /// With it, `longest` has the last ones that took at least this long, ns.
    pub(super) latest_from: Option<u64>,
    /// By duration: start, kind and name.
    slow: BinaryHeap<Reverse<(u64, u64, SlowKind, String)>>,
    pub(super) waits: LongWaits,
    pub(super) long_calls: LongCalls,
}

impl<'a> Walk<'a> {
    pub(super) fn new(facts: &'a Facts<'a>, names: &'a Names<'a>) -> Self {
        Self {
            facts,
            names,
            open: OpenStack::default(),
            now: 0,
            history: History::default(),
            chart: None,
            counts: Counts::default(),
            lost: 0,
            requested_at: None,
            requested: None,
            unit_at_request: None,
            requested_depth: 0,
            left: None,
            at: None,
            at_unit: None,
            longest: [None; 2],
            latest_from: None,
            slow: BinaryHeap::new(),
            waits: LongWaits::default(),
            long_calls: LongCalls::default(),
        }
    }

    pub(super) fn run(&mut self, thread: &'a Thread) -> Result<(), ReadError> {
        let mut spans = self.facts.spans(thread);
        while let Some((change, open)) = spans.change()? {
            self.visit(&change, open);
        }
        self.finish(spans.into_open());
        Ok(())
    }

    /// Reads all threads once, and main as [`Self::run`] does.
    pub(super) fn survey(&mut self) -> Result<Survey, ReadError> {
        let mut survey = self.facts.survey(|change, open| self.visit(change, open))?;
        self.finish(std::mem::take(&mut survey.main_open));
        Ok(survey)
    }

    /// Takes a change of the thread, and what is open until then.
    #[inline]
    fn visit(&mut self, change: &Change<'_>, open: &OpenStack) {
        if let Change::Lost { words } = change {
            self.lost = self.lost.saturating_add(*words);
        }
        if let Some(time) = change.time() {
            self.until(time, open);
            self.change(change, open);
        }
    }

    /// Ends with the items that are still open.
    fn finish(&mut self, open: OpenStack) {
        self.open = open;
        if self.at.take().is_some() {
            self.at_unit = self.unit();
        }
    }

    /// Keeps what is open at the wanted moments before `time`.
    fn until(&mut self, time: u64, open: &OpenStack) {
        if self.requested_at.is_some_and(|at| at < time) && self.requested.is_none() {
            self.requested = Some(items(self.facts, self.names, open));
            self.requested_depth = open.unit().unwrap_or(0);
            self.unit_at_request = self.unit_of(open);
        }
        if self.at.take_if(|at| *at < time).is_some() {
            self.at_unit = self.unit_of(open);
        }
    }

    fn change(&mut self, change: &Change<'_>, open: &OpenStack) {
        if let Some(time) = change.time().filter(|_| change.is_recorded()) {
            self.now = time;
        }
        if self.requested.is_none() {
            // A new unit outside of messages.
            if let Change::Opened { open: begun, .. } = change
                && !is_message(begun.key)
                && open.unit().is_none()
            {
                self.history.forget_open();
            }
            self.history.change(change, open);
        }
        match *change {
            Change::Opened { open: begun, payload } if !begun.before => self.count(begun.key, payload),
            Change::Closed { until, by, .. } => self.closed(open, until, by),
            _ => {}
        }
    }

    fn count(&mut self, key: u32, payload: Option<&Payload>) {
        match payload {
            Some(Payload::Message(message)) if !message.is_queued() => self.counts.not_queued += 1,
            Some(Payload::Frame(_)) => self.counts.frames += 1,
            _ if is_message(key) => self.counts.messages += 1,
            _ => self.counts.methods += u64::from(ids::is_method(key)),
        }
    }

    /// Whether main runs messages at all. A main thread without them stays in one call.
    pub(super) fn has_messages(&self) -> bool {
        self.counts.messages + self.counts.not_queued > 0
    }

    /// What main is in now. Without messages, only an ANR may ask for it.
    pub(super) fn unit(&self) -> Option<Unit> {
        self.unit_of(&self.open)
    }

    fn unit_of(&self, open: &OpenStack) -> Option<Unit> {
        let depth = open.unit()?;
        let OpenItem { kind, name, since, began_before, .. } = open_item(self.facts, self.names, open, depth);
        let kind = match kind {
            OpenItemKind::Message => UnitKind::Message,
            OpenItemKind::Unit => UnitKind::NotQueued,
            _ => UnitKind::Call,
        };
        // The same name as the recorder uses if it sees one start.
        let is_idle = open.frames()[depth].key == typed(types::IDLE) && !began_before;
        let name = if is_idle { format!("{IDLE_HANDLER}: {name}") } else { name };
        Some(Unit { kind, name, since, began_before })
    }

    /// The longest message, or call outside of messages, that ended and took `least` or longer; the last one
    /// with `latest_from`.
    pub(super) fn longest(&self, least: u64) -> Option<EndedUnit> {
        let [message, call] = self.longest;
        let all = message.into_iter().chain(call.filter(|_| self.has_messages()));
        let all = all.filter(|ended| ended.until - ended.since >= least);
        match self.latest_from {
            Some(_) => all.max_by_key(|ended| ended.until),
            None => all.max_by_key(|ended| ended.until - ended.since),
        }
    }

    /// The work between two moments.
    pub(super) fn before(&self, from: u64, to: u64) -> RecentWork {
        self.history.between(from, to, self.has_messages(), |what| match what {
            // A message that is entered and left like a method has no other name.
            What::Message(message) if message == Message::default() => {
                "android.os.Handler.dispatchMessage".to_owned()
            }
            What::Message(message) => message_name(self.facts.recording.texts(), &message),
            What::Call(key, id) => match self.facts.text(id) {
                Some(text) if key == typed(types::IDLE) => format!("{IDLE_HANDLER}: {text}"),
                Some(text) => text,
                None => key_name(self.names, key).unwrap_or_else(|| kind_name(key).to_owned()),
            },
        })
    }

    /// Handles the end of the innermost item.
    fn closed(&mut self, open: &OpenStack, at: u64, by: EndedBy) {
        let (facts, names, depth) = (self.facts, self.names, open.depth() - 1);
        let begun = open.frames()[depth].begun;
        if by != EndedBy::Outer {
            self.ended(open, at);
        }
        if let Some(chart) = &mut self.chart {
            chart.add(depth, (begun, at), false, || open_item(facts, names, open, depth));
        }
        if by == EndedBy::Skipped {
            self.counts.frames = self.counts.frames.saturating_sub(1);
        }
    }

    /// Handles the end of the innermost item, unless only something around it is known to have ended.
    fn ended(&mut self, open: &OpenStack, at: u64) {
        let depth = open.depth() - 1;
        let Open { key, begun, .. } = open.frames()[depth];
        if depth <= self.requested_depth
            && self.unit_at_request.as_ref().is_some_and(|unit| unit.since >= begun)
        {
            self.left.get_or_insert(at);
        }
        // A stage is part of its frame.
        match kind_of(key) {
            OpenItemKind::Message => self.slow(open, at, SlowKind::Message),
            _ if key == typed(types::FRAME) => self.slow(open, at, SlowKind::Frame),
            _ if open.is_call(depth) => self.slow(open, at, SlowKind::Call),
            _ => {}
        }
        self.waited(open, at - begun);
        let names = self.names;
        let method = || ids::is_method(key).then(|| names.method(key).into_owned());
        self.long_calls.ended(depth, (begun, at), method);
    }

    /// Handles the end of a message, a frame or a call outside of messages.
    fn slow(&mut self, open: &OpenStack, at: u64, kind: SlowKind) {
        let depth = open.depth() - 1;
        let Open { key, begun, .. } = open.frames()[depth];
        let duration = at - begun;
        let longest = match kind {
            SlowKind::Message => Some(&mut self.longest[0]),
            SlowKind::Call => Some(&mut self.longest[1]),
            SlowKind::Frame => None,
        };
        let is_wanted = |longest: &EndedUnit| match self.latest_from {
            Some(least) => duration >= least,
            None => longest.until - longest.since < duration,
        };
        if let Some(longest) = longest.filter(|longest| longest.as_ref().is_none_or(is_wanted)) {
            *longest = Some(EndedUnit { since: begun, until: at });
        }
        if kind == SlowKind::Call && self.requested.is_none() {
            let id = match open.payload(depth) {
                Some(Payload::Text(id)) => *id,
                _ => TextId::default(),
            };
            self.history.call(begun, at, key, id);
        }
        let room = self.slow.len() < MAX_SLOW || self.slow.peek().is_some_and(|s| s.0.0 < duration);
        if duration >= MIN_SLOW && room {
            let name = open_item(self.facts, self.names, open, depth).name;
            self.slow.push(Reverse((duration, begun, kind, name)));
            if self.slow.len() > MAX_SLOW {
                self.slow.pop();
            }
        }
    }

    /// Handles the end of the innermost item, if it is a wait. Waits inside it do not count again.
    fn waited(&mut self, open: &OpenStack, duration: u64) {
        let Some(Payload::Wait(wait)) = open.payload(open.depth() - 1) else { return };
        let depth = open.depth() - 1;
        let (outside, own) = (&open.frames()[..depth], open.frames()[depth]);
        if open.count(own.key) > 1 {
            return;
        }
        self.waits.offer(duration, || {
            let method = outside.iter().rev().find(|open| ids::is_method(open.key));
            LongWait {
                kind: wait.kind,
                since: own.begun,
                duration,
                class: self.facts.text(wait.class),
                call: wait.call,
                lock: wait.lock,
                owner: self.facts.thread(wait.owner).map(thread_name),
                method: method.map(|open| self.names.method(open.key).into_owned()),
            }
        });
    }

    /// The collected chart, with what is still open.
    pub(super) fn into_chart(mut self) -> Chart {
        let Some(mut chart) = self.chart.take() else { return Chart::default() };
        for (depth, open) in self.open.frames().iter().enumerate() {
            let item = || open_item(self.facts, self.names, &self.open, depth);
            chart.add(depth, (open.begun, u64::MAX), true, item);
        }
        chart.finish()
    }

    /// The open items, outermost first.
    pub(super) fn snapshot(&self) -> Vec<OpenItem> {
        items(self.facts, self.names, &self.open)
    }

    /// The slowest items that ended before `until`, slowest first. A message that consists almost entirely of
    /// one frame is listed as that frame.
    pub(super) fn slowest(&self, until: u64) -> Vec<Slow> {
        let end = |since: u64, duration: u64| since.saturating_add(duration);
        let mut found: Vec<_> = self.slow.iter().map(|Reverse(slow)| slow).collect();
        found.retain(|(duration, since, ..)| {
            (until.saturating_sub(BEFORE_WINDOW)..=until).contains(&end(*since, *duration))
        });
        let calls = self.has_messages();
        found.retain(|(_, _, kind, _)| calls || *kind != SlowKind::Call);
        found.sort_by_key(|(duration, since, kind, _)| (Reverse(*duration), *since, *kind));
        let within_listed = |i: usize| {
            let (whole, since, ..) = found[i];
            let shorter = found[i + 1..].iter().take_while(|(part, ..)| *part >= whole - whole / 10);
            shorter
                .into_iter()
                .any(|(part, from, ..)| *from >= *since && end(*from, *part) <= end(*since, *whole))
        };
        let listed = (0..found.len()).filter(|i| !within_listed(*i)).take(MAX_SLOWEST);
        let slow = |(duration, since, _, name): &(u64, u64, SlowKind, String)| Slow {
            name: name.clone(),
            since: *since,
            duration: *duration,
        };
        listed.map(|i| slow(found[i])).collect()
    }
}

/// The open items on `thread` at the moment `at`, outermost first, and the last method that it left before.
pub(super) fn stack_at<'a>(
    facts: &'a Facts<'a>,
    names: &'a Names<'a>,
    thread: &'a Thread,
    at: u64,
) -> Result<(Vec<OpenItem>, Option<String>), ReadError> {
    let mut spans = facts.spans(thread);
    let mut last_left = None;
    let left = |last_left: Option<u32>| last_left.map(|id| names.method(id).into_owned());
    while let Some((change, open)) = spans.change()? {
        if change.time().is_some_and(|time| time > at) {
            return Ok((items(facts, names, open), left(last_left)));
        }
        if let Change::Closed { open, by: EndedBy::End, .. } = change
            && ids::is_method(open.key)
        {
            last_left = Some(open.key);
        }
    }
    Ok((items(facts, names, spans.open()), left(last_left)))
}

/// The open items, outermost first.
fn items(facts: &Facts<'_>, names: &Names<'_>, open: &OpenStack) -> Vec<OpenItem> {
    let depth = open.depth();
    let shown = depth.saturating_sub(MAX_STACK)..depth;
    shown.map(|depth| open_item(facts, names, open, depth)).collect()
}

fn open_item(facts: &Facts<'_>, names: &Names<'_>, stack: &OpenStack, depth: usize) -> OpenItem {
    let open = stack.frames()[depth];
    let payload = stack.payload(depth);
    let texts = facts.recording.texts();
    let name = match payload {
        Some(Payload::Message(message)) => message_name(texts, message),
        Some(Payload::Frame(frame)) => format!("Choreographer#doFrame {}", frame.vsync),
        Some(Payload::Wait(wait)) => wait_name(wait.kind, wait.call).into_owned(),
        Some(Payload::Text(id)) => facts.text(*id).unwrap_or_else(|| "span".to_owned()),
        Some(Payload::Stage(stage)) => stage.constant().to_owned(),
        None => key_name(names, open.key).unwrap_or_else(|| name_before(open.key)),
    };
    let wait = if let Some(Payload::Wait(wait)) = payload { Some(*wait) } else { None };
    let kind = match payload {
        Some(Payload::Message(message)) if !message.is_queued() => OpenItemKind::Unit,
        _ => kind_of(open.key),
    };
    let source = if kind == OpenItemKind::Method { names.source(open.key) } else { None };
    OpenItem { kind, name, since: open.begun, began_before: open.before, source, wait }
}

/// The name of a stage or method, whose key says it all.
fn key_name(names: &Names<'_>, key: u32) -> Option<String> {
    let is_method = ids::is_method(key) || key == ids::DISPATCH;
    stage_of(key).map(str::to_owned).or_else(|| is_method.then(|| names.method(key).into_owned()))
}

fn stage_of(key: u32) -> Option<&'static str> {
    let stages = trace_format::event::Stage::ALL;
    stages.iter().copied().find(|s| typed(*s as u8) == key).map(|s| s.constant())
}

fn kind_of(key: u32) -> OpenItemKind {
    match key {
        key if ids::is_method(key) => OpenItemKind::Method,
        key if is_message(key) => OpenItemKind::Message,
        key if key == typed(types::WAIT) => OpenItemKind::Wait,
        key if key == typed(types::FRAME) || stage_of(key).is_some() => OpenItemKind::Frame,
        _ => OpenItemKind::Span,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::MethodMap;
    use crate::report::Report;
    use trace_format::Event;
    use trace_format::Recording;
    use trace_format::event::{Wait, WaitKind};
    use trace_format::synth::{RecordingBuilder, ThreadBuilder};

    /// The time that a report about main takes.
    fn time(fill: impl FnOnce(&mut ThreadBuilder)) -> Duration {
        let bytes = RecordingBuilder::new(7, "p").last_alive(20_000_000_000).main("main", fill).build();
        let recording = Recording::open(bytes).unwrap();
        let begun = Instant::now();
        Report::with_symbols(Path::new("r"), &recording, &MethodMap::default(), &[]).unwrap();
        begun.elapsed()
    }

    /// With a walk of the stack at each event, each of these takes minutes.
    #[test]
    fn the_time_grows_with_the_events_and_not_with_their_depth() {
        const DEPTH: u64 = 400_000;
        let calls = |main: &mut ThreadBuilder| {
            for n in 0..DEPTH {
                main.enter(1_000_000 + n, 1 + (n % 1_000) as u32);
            }
        };
        let wait = Wait { lock: 1, ..Wait::new(WaitKind::Monitor) };
        let waits = |main: &mut ThreadBuilder| {
            for n in 0..DEPTH {
                main.event(1_000_000 + n, Event::SpanBegin(TextId(1)));
            }
            for n in 0..DEPTH {
                main.event(2_000_000 + n, Event::WaitBegin(wait)).event(2_000_000 + n, Event::WaitEnd);
            }
        };
        for taken in [time(calls), time(waits)] {
            assert!(taken < Duration::from_secs(30), "{taken:?}");
        }
    }
}
