//! Gathers the facts of a report: the service ring, then main once, then the holder of its lock.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::Path;

use trace_format::event::{Message, Wait, WaitKind, types};
use trace_format::verdict::Outcome;
use trace_format::{Event, Item, ReadError, Recording, Source, TextId, Thread, ids};

use super::cause::{Facts, WaitSum};
use super::chart::{Chart, ChartBuilder};
use super::history::History;
use super::{
    Cause, Counts, Frame, FrameKind, Hang, Holder, RecorderReport, Report, Sections, Slow, WaitFact,
};
use crate::export::names_of;
use crate::model::{
    Anr, Incidents, Names, OpenStack, RecorderFacts, clean, first_event, last_moment, message_name, percent,
    reasons_text, stage_names, typed, wait_name,
};
use crate::{ExportError, MethodMap, Warning};

/// A message that is open at the end of the recording is a hang from this age on.
const HANG: u64 = 2_000_000_000;
/// How far back "before" reaches.
const BEFORE: u64 = 10_000_000_000;
/// A look at main this long after its hang still belongs to it, ns.
const LOOK_AFTER: u64 = 50_000_000;
/// How many slow things are listed.
const SLOWEST: usize = 8;
/// Slow things that are kept until it is known what "before" means.
const KEPT: usize = 4096;
/// Frames of a stack that are kept, from the inside.
const MAX_STACK: usize = 512;
/// How far back a storm of messages is looked for, ns.
const STORM_WINDOW: u64 = 5_000_000_000;
/// Different things that one message waits for.
const MAX_WAIT_KINDS: usize = 256;
/// What takes less is not called slow.
const SLOW: u64 = 16_666_667;

pub(super) fn build<S: Source>(
    file: &Path,
    recording: &Recording<S>,
    map: &MethodMap,
) -> Result<Report, ExportError> {
    let placed = |source| ExportError::Recording { file: file.to_owned(), source };
    let (names, name_warning) = names_of(file, recording, map);
    let incidents = Incidents::of(recording).map_err(placed)?;
    let worst = worst(&incidents.anrs);
    let main = recording.threads().iter().find(|t| t.main);
    let asked = worst.map(|anr| anr.detected);
    let (walk, events, end) = read(recording, &names, main, asked).map_err(placed)?;

    let mut warnings: Vec<Warning> = name_warning.into_iter().collect();
    warnings.extend(Warning::of_recording(file, recording));
    let header = recording.header();
    if header.dropped > 0 {
        warnings.push(Warning::Dropped { events: header.dropped });
    }
    if walk.lost > 0 {
        warnings.push(Warning::Lost { words: walk.lost });
    }
    let facts = RecorderFacts::of(recording).map_err(placed)?;
    let mut hang = hang(recording, &names, &walk, worst, end).map_err(placed)?;
    if let (Some(hang), Some(main)) = (&mut hang, main) {
        // The last look is taken right after main went on.
        let until = if hang.ended { hang.until.saturating_add(LOOK_AFTER) } else { hang.until };
        hang.processor = facts.processor(main.tid, hang.since, until);
    }
    let sections = Sections::of(recording).map_err(placed)?;
    let cause =
        cause(recording, &walk, &incidents, hang.as_ref(), main, &facts, &sections, end).map_err(placed)?;
    let until = hang.as_ref().map_or(end, |h| h.since);
    let mut starts = sections.starts;
    starts.sort_by_key(|start| start.begin);
    let threads = recording.threads();
    let first = threads.iter().map(Thread::first_time).filter(|t| *t > 0).min().unwrap_or(end);
    Ok(Report {
        process: clean(&header.process_name).into_owned(),
        pid: header.pid,
        start: header.start,
        first,
        end,
        state: header.state,
        before: walk.history.between(
            until.saturating_sub(BEFORE).max(first.min(until)),
            until,
            recording.texts(),
        ),
        cause,
        starts,
        slowest: walk.slowest(until),
        counts: Counts {
            threads: threads.len() as u64,
            words: threads.iter().map(Thread::words).sum(),
            overwritten: threads.iter().fold(0, |sum, t| sum.saturating_add(t.overwritten())),
            ..walk.counts
        },
        recorder: recorder_report(recording, &facts, &names, &events, end),
        notices: incidents
            .notices
            .iter()
            .filter_map(|(at, id)| Some((*at, clean(recording.texts().get(*id)?).into_owned())))
            .collect(),
        anrs: incidents.anrs,
        captures: incidents.captures,
        signals: incidents.counters,
        hang,
        warnings,
    })
}

/// Main's slices in the hang and before it.
pub(super) fn chart<S: Source>(
    file: &Path,
    recording: &Recording<S>,
    map: &MethodMap,
    report: &Report,
) -> Result<Chart, ExportError> {
    let (names, _) = names_of(file, recording, map);
    let (since, to) = report.hang.as_ref().map_or((report.end, report.end), |h| (h.since, h.until));
    let from = since.saturating_sub(BEFORE).max(report.first.min(since));
    let mut walk = Walk::new(recording, &names);
    walk.chart = Some(ChartBuilder::new(from, to));
    if let Some(main) = recording.threads().iter().find(|t| t.main) {
        walk.run(main, None).map_err(|source| ExportError::Recording { file: file.to_owned(), source })?;
    }
    let mut chart = walk.chart.take().expect("it was set");
    for depth in 0..walk.stack.depth() {
        let begun = walk.stack.frames()[depth].begun;
        chart.add(depth, (begun, u64::MAX), true, || walk.kind_and_name(depth));
    }
    Ok(chart.finish())
}

/// Why main did not come back. Asked where it did not, and where the system asked.
#[expect(clippy::too_many_arguments, reason = "all that was read")]
fn cause<S: Source>(
    recording: &Recording<S>,
    walk: &Walk<'_, S>,
    incidents: &Incidents,
    hang: Option<&Hang>,
    main: Option<&Thread>,
    recorder: &RecorderFacts,
    sections: &Sections,
    end: u64,
) -> Result<Option<Cause>, ReadError> {
    let others = incidents.captures.iter().find_map(|capture| {
        let verdict = capture.verdict.as_ref().filter(|v| v.outcome == Outcome::SomebodyElses)?;
        Some((capture.at, reasons_text(verdict)))
    });
    if hang.is_none() && incidents.anrs.is_empty() && others.is_none() {
        return Ok(None);
    }
    let detected = incidents.anrs.iter().map(|anr| anr.detected).next_back();
    let asked = hang.map(|h| h.at).or(detected).or(others.as_ref().map(|(at, _)| *at)).unwrap_or(end);
    let mut facts = Facts::new(asked, !incidents.anrs.is_empty(), others);
    if let Some(hang) = hang {
        facts.set_hang(hang);
        facts.set_waits(wait_sums(recording, walk, hang));
    }
    facts.set_before(walk.history.between(asked.saturating_sub(STORM_WINDOW), asked, recording.texts()));
    facts.set_events(walk.history.events, walk.history.last);
    // What main used of the processor is told of the whole hang, whenever somebody noticed.
    let until = hang.map_or(asked, |h| h.until).max(asked).saturating_add(LOOK_AFTER);
    facts.set_looks(&main.map_or_else(Vec::new, |main| recorder.looks(main.tid)), until);
    facts.set_slept(&recording.clocks()?, until);
    facts.set_sections(sections, until, recording.header().pid);
    Ok(Some(Cause::of(&facts)))
}

/// The waits of the message that hung, by kind and by what was waited for.
fn wait_sums<S: Source>(recording: &Recording<S>, walk: &Walk<'_, S>, hang: &Hang) -> Vec<WaitSum> {
    let mut sums: Vec<WaitSum> = Vec::new();
    for waited in walk.history.waits(hang.at).filter(|w| w.end > hang.since) {
        let what = text(recording, waited.wait.class);
        let total = waited.end.saturating_sub(waited.since.max(hang.since));
        if let Some(sum) = sums.iter_mut().find(|sum| sum.kind == waited.wait.kind && sum.what == what) {
            sum.count += 1;
            sum.total = sum.total.saturating_add(total);
            continue;
        }
        let owner = recording.threads().iter().find(|t| waited.wait.owner > 0 && t.uid == waited.wait.owner);
        let told = hang.wait.as_ref().and_then(|wait| wait.holder.as_ref());
        let holder = match told {
            Some(holder) if owner.is_none_or(|owner| owner.tid == holder.tid) => Some(doing(holder)),
            _ => owner.map(|owner| format!("\"{}\"", thread_name(owner))),
        };
        sums.push(WaitSum { kind: waited.wait.kind, what, holder, since: waited.since, count: 1, total });
        if sums.len() >= MAX_WAIT_KINDS {
            break;
        }
    }
    sums
}

fn doing(holder: &Holder) -> String {
    format!("\"{}\" (tid {}), {}", holder.name, holder.tid, super::text::doing(holder))
}

/// `events`: of each thread.
fn recorder_report<S: Source>(
    recording: &Recording<S>,
    facts: &RecorderFacts,
    names: &Names<'_>,
    events: &[u64],
    end: u64,
) -> RecorderReport {
    let off = facts.off().into_iter().map(|off| (names.method(off.method).into_owned(), off));
    let threads = recording.threads().iter().zip(events);
    let lived = |first: u64| end.saturating_sub(first);
    let (mut main, mut all) = (None, None);
    if let Some(measurement) = &facts.measurement {
        let cost = |(thread, events): (&Thread, &u64)| measurement.estimate(thread, *events);
        let of_main = threads.clone().find(|(thread, _)| thread.main);
        main = of_main.map(|(thread, n)| percent(cost((thread, n)), lived(first_event(thread))));
        let first = recording.threads().iter().map(first_event).filter(|t| *t > 0).min();
        all = first.map(|first| percent(threads.map(cost).sum(), lived(first)));
    }
    RecorderReport {
        measurement: facts.measurement.clone(),
        main_cost_percent: main,
        all_cost_percent: all,
        clamped: recording.header().clamped,
        pauses: facts.pauses(),
        off: off.collect(),
    }
}

/// The ANR that is reported first: the one that lasted longest. One that found main in no message (a service, a
/// broadcast, or a main of which nothing is known) is no hang of main's.
fn worst(anrs: &[Anr]) -> Option<&Anr> {
    anrs.iter()
        .filter(|a| a.blocked() > 0)
        .max_by_key(|a| (a.recovered.unwrap_or(u64::MAX).saturating_sub(a.since), a.blocked()))
}

fn read<'a, S: Source>(
    recording: &'a Recording<S>,
    names: &'a Names<'a>,
    main: Option<&'a Thread>,
    asked: Option<u64>,
) -> Result<(Walk<'a, S>, Vec<u64>, u64), ReadError> {
    let mut walk = Walk::new(recording, names);
    let mut events = Vec::new();
    let mut last = vec![asked.unwrap_or(0)];
    for thread in recording.threads() {
        if main.is_some_and(|m| m.uid == thread.uid) {
            walk.run(thread, asked)?;
            last.push(walk.now);
            events.push(walk.events);
            continue;
        }
        let (mut now, mut count) = (0, 0);
        for item in recording.events(thread) {
            if let Item::Event { time, .. } = item? {
                now = time;
                count += 1;
            }
        }
        last.push(now);
        events.push(count);
    }
    Ok((walk, events, last_moment(recording, last.into_iter())))
}

fn hang<S: Source>(
    recording: &Recording<S>,
    names: &Names<'_>,
    walk: &Walk<'_, S>,
    anr: Option<&Anr>,
    end: u64,
) -> Result<Option<Hang>, ReadError> {
    let last = walk.snapshot();
    let (since, at, until, ended, snapshot) = match anr {
        Some(anr) => match anr.recovered.or(walk.left.filter(|left| *left >= anr.detected)) {
            // Main went on: what it did when the ANR was detected is what counts.
            Some(ended) => (anr.since, anr.detected, ended, true, walk.asked.as_ref().unwrap_or(&last)),
            None => (anr.since, end, end, false, &last),
        },
        None => match message_of(&last).filter(|m| end.saturating_sub(m.frame.since) >= HANG) {
            Some(message) => (message.frame.since, end, end, false, &last),
            None => return Ok(None),
        },
    };
    let wait = match snapshot.last().and_then(|o| o.wait) {
        Some(wait) => {
            let begun = snapshot.last().map_or(since, |o| o.frame.since);
            Some(wait_fact(recording, names, &wait, begun, at)?)
        }
        None => None,
    };
    Ok(Some(Hang {
        message: message_of(snapshot).map(|m| m.frame.name.clone()),
        since,
        until,
        ended,
        at,
        stack: snapshot.iter().map(|o| o.frame.clone()).collect(),
        wait,
        processor: None,
        anr: anr.cloned(),
    }))
}

/// The innermost message of a stack.
fn message_of(stack: &[OpenFrame]) -> Option<&OpenFrame> {
    stack.iter().rev().find(|o| o.frame.kind == FrameKind::Message)
}

fn text<S: Source>(recording: &Recording<S>, id: TextId) -> Option<String> {
    recording.texts().get(id).filter(|t| !t.is_empty()).map(|t| clean(t).into_owned())
}

fn thread_name(thread: &Thread) -> String {
    match &thread.name {
        Some(name) => clean(name).into_owned(),
        None if thread.main => "main".to_owned(),
        None => format!("thread {}", thread.tid),
    }
}

/// How people call a lock: by its class, else by its identity.
fn lock_name<S: Source>(recording: &Recording<S>, wait: &Wait) -> String {
    text(recording, wait.class).unwrap_or_else(|| format!("lock 0x{:x}", wait.lock))
}

fn wait_fact<S: Source>(
    recording: &Recording<S>,
    names: &Names<'_>,
    wait: &Wait,
    since: u64,
    at: u64,
) -> Result<WaitFact, ReadError> {
    let find = |uid: u32| recording.threads().iter().find(|t| uid > 0 && t.uid == uid);
    let mut holder = None;
    if let Some(thread) = find(wait.owner) {
        let mut walk = Walk::new(recording, names);
        walk.run(thread, Some(at))?;
        let stack = walk.asked.take().unwrap_or_else(|| walk.snapshot());
        let waits_for = stack.last().and_then(|o| o.wait).filter(|w| w.kind == WaitKind::Monitor);
        holder = Some(Holder {
            name: thread_name(thread),
            tid: thread.tid,
            last_left: walk.last_left.map(|id| names.method(id).into_owned()),
            waits_for: waits_for.map(|w| (lock_name(recording, &w), find(w.owner).map(thread_name))),
            stack: stack.into_iter().map(|o| o.frame).collect(),
        });
    }
    Ok(WaitFact { kind: wait.kind, since, class: text(recording, wait.class), lock: wait.lock, holder })
}

/// A frame of a snapshot, and the wait it stands for.
#[derive(Clone, Debug)]
struct OpenFrame {
    frame: Frame,
    wait: Option<Wait>,
}

/// Payloads of what is open, so that a snapshot can name it.
#[derive(Clone, Copy, Debug)]
enum Detail {
    Message(Message),
    Wait(Wait),
    Frame(u64),
    Text(TextId),
}

/// Reads one thread with its stack.
struct Walk<'a, S> {
    recording: &'a Recording<S>,
    names: &'a Names<'a>,
    stack: OpenStack,
    /// By depth, of those frames that have a payload.
    details: Vec<(usize, Detail)>,
    now: u64,
    events: u64,
    history: History,
    chart: Option<ChartBuilder>,
    counts: Counts,
    lost: u64,
    /// The stack at the moment that was asked for, if the thread went on after it.
    asked: Option<Vec<OpenFrame>>,
    asked_message: Option<u64>,
    /// When the message that was open at that moment ended.
    left: Option<u64>,
    /// The last method left before the moment that was asked for.
    last_left: Option<u32>,
    slow: BinaryHeap<Reverse<(u64, u64, String)>>,
}

impl<'a, S: Source> Walk<'a, S> {
    fn new(recording: &'a Recording<S>, names: &'a Names<'a>) -> Self {
        Self {
            recording,
            names,
            stack: OpenStack::new(),
            details: Vec::new(),
            now: 0,
            events: 0,
            history: History::default(),
            chart: None,
            counts: Counts::default(),
            lost: 0,
            asked: None,
            asked_message: None,
            left: None,
            last_left: None,
            slow: BinaryHeap::new(),
        }
    }

    fn run(&mut self, thread: &Thread, asked: Option<u64>) -> Result<(), ReadError> {
        for item in self.recording.events(thread) {
            let (time, event) = match item? {
                Item::Event { time, event } => (time, event),
                Item::Lost { words } => {
                    self.lost = self.lost.saturating_add(words);
                    continue;
                }
                Item::Fault(_) => continue,
            };
            if asked.is_some_and(|at| at < time) && self.asked.is_none() {
                let snapshot = self.snapshot();
                self.asked_message = message_of(&snapshot).map(|m| m.frame.since);
                self.asked = Some(snapshot);
            }
            self.now = time;
            self.events += 1;
            if self.asked.is_none() {
                self.history.event(time, &event);
            }
            self.event(time, event);
        }
        Ok(())
    }

    fn event(&mut self, at: u64, event: Event) {
        match event {
            Event::Enter(id) => {
                self.counts.methods += u64::from(ids::is_method(id));
                self.counts.messages += u64::from(id == ids::DISPATCH);
                self.stack.push(id, at);
            }
            Event::Exit(id) => {
                if self.asked.is_none() && ids::is_method(id) {
                    self.last_left = Some(id);
                }
                self.close(at, id);
            }
            Event::MessageBegin(m) => {
                self.counts.messages += 1;
                self.open(at, typed(types::MESSAGE), Detail::Message(m));
            }
            Event::FrameBegin(f) => {
                self.counts.frames += 1;
                self.open(at, typed(types::FRAME), Detail::Frame(f.vsync));
            }
            Event::WaitBegin(w) => self.open(at, typed(types::WAIT), Detail::Wait(w)),
            Event::SpanBegin(id) => self.open(at, typed(types::SPAN), Detail::Text(id)),
            Event::IdleBegin(id) => self.open(at, typed(types::IDLE), Detail::Text(id)),
            Event::StageBegin(stage) => {
                self.stack.push(typed(stage as u8), at);
            }
            Event::StageEnd(stage) => self.close(at, typed(stage as u8)),
            Event::MessageEnd => self.close(at, typed(types::MESSAGE)),
            Event::FrameEnd => self.close(at, typed(types::FRAME)),
            Event::WaitEnd => self.close(at, typed(types::WAIT)),
            Event::SpanEnd => self.close(at, typed(types::SPAN)),
            Event::IdleEnd => self.close(at, typed(types::IDLE)),
            _ => {}
        }
    }

    fn open(&mut self, at: u64, key: u32, detail: Detail) {
        let depth = self.stack.depth();
        if self.stack.push(key, at) {
            self.details.push((depth, detail));
        }
    }

    fn close(&mut self, at: u64, key: u32) {
        let Some(depth) = self.stack.find(key) else { return };
        let begun = self.stack.frames()[depth].begun;
        let kind = kind_of(key);
        if matches!(kind, FrameKind::Message | FrameKind::Frame) {
            if kind == FrameKind::Message && self.asked_message == Some(begun) {
                self.left.get_or_insert(at);
            }
            // A stage is told by its frame.
            let whole = kind == FrameKind::Message || key == typed(types::FRAME);
            let duration = at - begun;
            let room = self.slow.len() < KEPT || self.slow.peek().is_some_and(|s| s.0.0 < duration);
            if whole && duration >= SLOW && room {
                let name = self.frame(depth).frame.name;
                self.slow.push(Reverse((duration, begun, name)));
                if self.slow.len() > KEPT {
                    self.slow.pop();
                }
            }
        }
        if let Some(mut chart) = self.chart.take() {
            for depth in depth..self.stack.depth() {
                let begun = self.stack.frames()[depth].begun;
                chart.add(depth, (begun, at), false, || self.kind_and_name(depth));
            }
            self.chart = Some(chart);
        }
        self.stack.truncate(depth);
        while self.details.last().is_some_and(|(d, _)| *d >= depth) {
            self.details.pop();
        }
    }

    fn kind_and_name(&self, depth: usize) -> (FrameKind, String) {
        let frame = self.frame(depth).frame;
        (frame.kind, frame.name)
    }

    fn frame(&self, depth: usize) -> OpenFrame {
        let open = self.stack.frames()[depth];
        let at = self.details.binary_search_by_key(&depth, |(d, _)| *d);
        let detail = at.ok().map(|i| self.details[i].1);
        let texts = self.recording.texts();
        let name = match detail {
            Some(Detail::Message(m)) => message_name(texts, &m),
            Some(Detail::Frame(vsync)) => format!("Choreographer#doFrame {vsync}"),
            Some(Detail::Wait(w)) => wait_name(w.kind, text(self.recording, w.class).as_deref()).to_owned(),
            Some(Detail::Text(id)) => text(self.recording, id).unwrap_or_else(|| "span".to_owned()),
            None => match stage_of(open.key) {
                Some(stage) => stage.to_owned(),
                None => self.names.method(open.key).into_owned(),
            },
        };
        let wait = if let Some(Detail::Wait(w)) = detail { Some(w) } else { None };
        OpenFrame { frame: Frame { kind: kind_of(open.key), name, since: open.begun }, wait }
    }

    /// What is open now, outermost first.
    fn snapshot(&self) -> Vec<OpenFrame> {
        let depth = self.stack.depth();
        (depth.saturating_sub(MAX_STACK)..depth).map(|d| self.frame(d)).collect()
    }

    /// The slowest of what ended in the time before `until`, slowest first.
    fn slowest(&self, until: u64) -> Vec<Slow> {
        let mut found: Vec<Slow> = self
            .slow
            .iter()
            .map(|Reverse((duration, since, name))| Slow {
                name: name.clone(),
                since: *since,
                duration: *duration,
            })
            .filter(|s| {
                let end = s.since + s.duration;
                end <= until && end >= until.saturating_sub(BEFORE)
            })
            .collect();
        found.sort_by_key(|s| (Reverse(s.duration), s.since));
        found.truncate(SLOWEST);
        found
    }
}

fn stage_of(key: u32) -> Option<&'static str> {
    let stages = trace_format::event::Stage::ALL;
    stages.into_iter().find(|s| typed(*s as u8) == key).map(|s| stage_names(s).1)
}

fn kind_of(key: u32) -> FrameKind {
    match key {
        ids::DISPATCH => FrameKind::Message,
        key if key == typed(types::MESSAGE) => FrameKind::Message,
        key if key == typed(types::WAIT) => FrameKind::Wait,
        key if key == typed(types::FRAME) || stage_of(key).is_some() => FrameKind::Frame,
        key if ids::is_method(key) => FrameKind::Method,
        _ => FrameKind::Span,
    }
}
