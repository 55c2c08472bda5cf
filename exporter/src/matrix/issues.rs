//! Creates Matrix's reports from a recording: slow messages, LAG and ANR, starts, and frames, one JSON object each.
//!
//! Reports that the app made itself (section Issue) are returned unchanged, without others, unless rules are
//! requested by name. Otherwise main is read once: each outermost message is a slice, as in Matrix.
//!
//! | report | when |
//! | --- | --- |
//! | `NORMAL` | a message took `slow_ms` |
//! | `LAG`, `LAG_IDLE_HANDLER` | a message, an idle handler was 2 s old |
//! | `ANR` | a message was 5 s old: its slice until the app's own timer fired, or until then |
//! | `SIGNAL_ANR` | the system requested a dump and it was an ANR |
//! | `Trace_StartUp`, `STARTUP` | each start; those of 10 s (cold) and 4 s (warm) with their stack |
//! | `Trace_FPS` | each scene every 10 s, and when it is left |
//!
//! An input event, an idle handler or the like, outside of messages, is reported like a message by anrscope's
//! rules, and not at all by Matrix's: its Printer does not see it. An idle handler has its own
//! `LAG_IDLE_HANDLER`.
//!
//! `LAG_TOUCH` needs the age of an input event while it is handled, `PRIORITY_MODIFIED` and
//! `TIMERSLACK_MODIFIED` the caller: recordings do not have these, so the app reports them itself.

use std::collections::HashMap;
use std::path::Path;

use answers::text::clean;
use trace_format::event::{Clocks, Event, types};
use trace_format::sections::anr_snapshot::AnrSnapshot;
use trace_format::{Item, ReadError, Recording, Source, TextId, Thread, ids};
use trace_rules::Rules;
use trace_rules::looper::{Limits, SLOW_MS};
use trace_rules::report::{Device, Envelope, Issue, LagKind, Memory, Priority, StackStyle};
use trace_rules::stack::{Call, TARGET_LINES};
use trace_rules::startup::Start;

use super::frames::{FrameCounts, SceneReports, signed};
use super::slice::{Slice, Stack};
use super::starts::start_of;
use super::thread_stack::stack_at;
use crate::facts::{
    Anr, Change, Detector, EndedBy, Facts, OpenStack, Payload, is_message, last_moment, typed,
};
use crate::model::Names;
use crate::{ExportError, MethodMap, Warning};

/// Maximum number of reports that are written for a recording, and that are read from a file, so that a written file can be read.
pub(super) const MAX_ISSUES: usize = 16_384;
/// Maximum number of starts with a stack.
const MAX_STACKS: usize = 16;
/// Maximum number of open methods in a Java stack.
const MAX_OPEN: usize = 256;

/// Options for creating reports.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IssueOptions {
    /// The rules; `None` uses anrscope's, and returns the app's own reports unchanged if there are any.
    pub rules: Option<Rules>,
    /// Duration from which a message is slow, ms.
    pub slow_ms: u64,
    /// Maximum number of lines per stack.
    pub lines: usize,
}

impl Default for IssueOptions {
    fn default() -> Self {
        Self { rules: None, slow_ms: SLOW_MS.into(), lines: TARGET_LINES }
    }
}

/// The reports of a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reports {
    /// By time, each one line of JSON.
    pub lines: Vec<String>,
    /// Problems with reading the recording.
    pub warnings: Vec<Warning>,
}

/// Creates the reports of a recording. `file` is used in messages only.
///
/// # Errors
/// If the recording cannot be read any further.
pub fn issues(
    file: &Path,
    recording: &Recording<dyn Source + '_>,
    map: &MethodMap,
    options: &IssueOptions,
) -> Result<Reports, ExportError> {
    let placed = ExportError::reading(file);
    let facts = Facts::of(recording).map_err(placed)?;
    let survey = facts.survey(|_, _| {}).map_err(placed)?;
    let names = Names::of(recording, map);
    let lines = read(&facts, &names, options).map_err(placed)?;
    Ok(Reports {
        lines,
        warnings: Warning::of_skipped(file, &facts.all_skipped(&survey)).into_iter().collect(),
    })
}

fn read(facts: &Facts<'_>, names: &Names<'_>, options: &IssueOptions) -> Result<Vec<String>, ReadError> {
    let own = &facts.sections.issues;
    if options.rules.is_none() && !own.is_empty() {
        return Ok(own.iter().map(|(_, json)| json.clone()).collect());
    }
    let mut reporter = Reporter::new(facts, names, options);
    if let Some(main) = facts.main() {
        reporter.main(main)?;
        reporter.other_threads(main.uid)?;
    }
    Ok(reporter.finish())
}

/// An open message or idle handler with its measurements.
struct Open {
    since: u64,
    slice: Slice,
    /// The slice up to the moment at which it becomes an ANR.
    anr: Option<(u64, Slice)>,
    lag_reported: bool,
}

struct Reporter<'a> {
    facts: &'a Facts<'a>,
    names: &'a Names<'a>,
    rules: Rules,
    limits: Limits,
    options: IssueOptions,
    process: String,
    clocks: Vec<Clocks>,
    /// When the timer reported each message's ANR, by the message's start.
    stalls: HashMap<u64, u64>,
    signals: Vec<Anr>,
    next_signal: usize,
    starts: Vec<(Start, u64, Option<Slice>)>,
    messages: u32,
    open: Option<Open>,
    /// The start of an open idle handler that is not reported yet.
    idle: Option<u64>,
    frames: FrameCounts,
    now: u64,
    reports: Vec<(u64, String)>,
}

impl<'a> Reporter<'a> {
    fn new(facts: &'a Facts<'a>, names: &'a Names<'a>, options: &IssueOptions) -> Self {
        let rules = options.rules.unwrap_or_default();
        let incidents = &facts.incidents;
        let seen = incidents.anrs.iter().filter_map(|anr| match anr.detector {
            Detector::Watchdog => Some((anr.since, anr.detected)),
            Detector::Sigquit(_) => anr.watchdog.map(|at| (anr.since, at)),
        });
        let mut stalls: HashMap<u64, u64> = seen.collect();
        for snapshot in facts.sections.snapshots.iter().filter(|s| s.detector.as_deref() == Some("looper")) {
            stalls.insert(snapshot.message_since, snapshot.at);
        }
        let mut signals = incidents.anrs.clone();
        signals.retain(|anr| matches!(anr.detector, Detector::Sigquit(_)) && !anr.suspected());
        signals.sort_by_key(|anr| anr.detected);
        let mut clocks = facts.clocks.clone();
        clocks.sort_by_key(|clock| clock.boottime);
        let mut starts = Vec::new();
        for fact in &facts.sections.starts {
            let Some(start) = start_of(fact) else { continue };
            let slice = (start.with_stack && starts.len() < MAX_STACKS)
                .then(|| Slice::new(rules, false, options.lines));
            starts.push((start, fact.begin.saturating_add(start.cost_ms.saturating_mul(1_000_000)), slice));
        }
        Self {
            facts,
            names,
            rules,
            limits: if rules == Rules::Matrix { Limits::MATRIX } else { Limits::default() },
            options: *options,
            process: clean(&facts.recording.header().process_name).into_owned(),
            clocks,
            stalls,
            signals,
            next_signal: 0,
            starts,
            messages: 0,
            open: None,
            idle: None,
            frames: FrameCounts::new(rules),
            now: 0,
            reports: Vec::new(),
        }
    }

    fn main(&mut self, main: &'a Thread) -> Result<(), ReadError> {
        let mut spans = self.facts.spans(main);
        while let Some((change, items)) = spans.change()? {
            let is_before = matches!(change, Change::Opened { open, .. } if open.before);
            if let Some(time) = change.time().filter(|_| !is_before) {
                self.until(time, items);
                self.now = time;
            }
            match change {
                // The duration of a message whose start is lost is unknown: its methods are reported, it is not.
                Change::Opened { open, payload } if !open.before => {
                    self.opened(open.begun, open.key, payload)
                }
                Change::Closed { open, payload, until, by } if !open.before || ids::is_method(open.key) => {
                    self.closed(until, open.key, payload, by);
                }
                Change::Event { time, event } => self.event(time, *event),
                _ => {}
            }
        }
        let end = last_moment(self.facts.recording, std::iter::once(self.now));
        self.until(end, spans.open());
        Ok(())
    }

    /// Reads other threads only for the system's frame metrics.
    fn other_threads(&mut self, main: u32) -> Result<(), ReadError> {
        for thread in self.facts.recording.threads().iter().filter(|t| t.uid != main) {
            for item in self.facts.events(thread) {
                if let Item::Event { time, event: Event::FrameMetrics(metrics) } = item? {
                    self.frames.metrics(time, &metrics);
                }
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Vec<String> {
        for (start, end, slice) in std::mem::take(&mut self.starts) {
            self.push(end, &Issue::Startup { start: &start });
            if let Some(slice) = slice {
                let Stack { text, key, .. } = slice.finish(end, signed(start.cost_ms));
                self.push(end, &Issue::StartupStack { start: &start, stack: &text, key: &key });
            }
        }
        let frames = std::mem::replace(&mut self.frames, FrameCounts::new(self.rules));
        let SceneReports { reports, means, api } = frames.finish();
        for (at, report) in &reports {
            let scene = self.facts.text(TextId(report.scene)).unwrap_or_default();
            self.push(*at, &Issue::Fps { scene: &scene, report, means, api });
        }
        self.reports.sort_by_key(|(at, _)| *at);
        self.reports.into_iter().map(|(_, json)| json).collect()
    }

    /// Handles what is due before the next event, at `time`.
    fn until(&mut self, time: u64, open: &OpenStack) {
        while let Some(anr) = self.signals.get(self.next_signal).filter(|anr| anr.detected < time).cloned() {
            self.next_signal += 1;
            self.signal_anr(&anr, open);
        }
        let lag = self.limits.lag_ms * 1_000_000;
        if let Some(since) = self.idle.take_if(|since| time.saturating_sub(*since) >= lag) {
            self.lag(LagKind::IdleHandler, since, since + lag, open);
        }
        let Some(message) = &mut self.open else { return };
        let since = message.since;
        let anr = message.anr.take_if(|(at, _)| *at < time);
        if !message.lag_reported && time.saturating_sub(since) >= lag {
            message.lag_reported = true;
            self.lag(LagKind::Message, since, since + lag, open);
        }
        if let Some((at, slice)) = anr {
            self.anr(since, at, slice, open);
        }
    }

    fn opened(&mut self, at: u64, key: u32, payload: Option<&Payload>) {
        match payload {
            Some(Payload::Message(message)) => {
                self.message_begin(at);
                // Matrix sees only what its Printer does: messages of the queue.
                if !message.is_queued() && self.messages == 1 && self.rules == Rules::Matrix {
                    self.open = None;
                }
            }
            Some(Payload::Frame(frame)) => self.frames.begin(at, *frame),
            Some(Payload::Stage(stage)) => self.frames.stage_begin(at, *stage),
            _ if key == ids::DISPATCH => self.message_begin(at),
            _ if ids::is_method(key) => self.call(Call::enter(key, at)),
            _ if key == typed(types::IDLE) => {
                self.idle = Some(at);
                // Its only report is LAG_IDLE_HANDLER.
                if let Some(open) = self.open.as_mut().filter(|_| self.messages == 1) {
                    open.lag_reported = true;
                }
            }
            _ => {}
        }
    }

    fn closed(&mut self, at: u64, key: u32, payload: Option<&Payload>, by: EndedBy) {
        match (payload, by) {
            _ if is_message(key) => self.message_end(at, by),
            _ if ids::is_method(key) && by == EndedBy::End => self.call(Call::exit(key, at)),
            _ if key == typed(types::IDLE) => self.idle = None,
            (Some(Payload::Frame(_)), EndedBy::End) => self.frames.end(at),
            (Some(Payload::Frame(_)), EndedBy::Skipped) => self.frames.skipped(),
            (Some(Payload::Stage(stage)), EndedBy::End) => self.frames.stage_end(at, *stage),
            _ => {}
        }
    }

    fn event(&mut self, at: u64, event: Event) {
        match event {
            Event::Exit(id) if ids::is_method(id) => self.call(Call::exit(id, at)),
            Event::FrameMetrics(metrics) => self.frames.metrics(at, &metrics),
            Event::Focus(class, true) => self.frames.scene(at, class),
            _ => {}
        }
    }

    /// Adds a call to every open slice.
    fn call(&mut self, call: Call) {
        if let Some(open) = &mut self.open {
            open.slice.push(call);
            if let Some((_, slice)) = &mut open.anr {
                slice.push(call);
            }
        }
        for (start, end, slice) in &mut self.starts {
            if let Some(slice) = slice.as_mut().filter(|_| (start.slice_from_ns..=*end).contains(&call.at_ns))
            {
                slice.push(call);
            }
        }
    }

    fn message_begin(&mut self, at: u64) {
        self.messages += 1;
        if self.messages == 1 {
            let slice = || Slice::new(self.rules, true, self.options.lines);
            let limit = at.saturating_add(self.limits.anr_ms * 1_000_000);
            let due = self.stalls.get(&at).copied().unwrap_or(limit);
            self.open =
                Some(Open { since: at, slice: slice(), anr: Some((due, slice())), lag_reported: false });
        }
        self.call(Call::enter(ids::DISPATCH, at));
    }

    fn message_end(&mut self, at: u64, by: EndedBy) {
        self.call(Call::exit(ids::DISPATCH, at));
        self.messages -= 1;
        if self.messages > 0 {
            return;
        }
        let is_known = by == EndedBy::End;
        let Some(open) = self.open.take().filter(|_| is_known) else { return };
        let ms = at.saturating_sub(open.since) / 1_000_000;
        if ms < self.options.slow_ms {
            return;
        }
        let Stack { text, key, cost_ms } = open.slice.finish(at, signed(ms));
        let scene = self.scene_at(at);
        self.push(at, &Issue::SlowMessage { cost_ms, scene: &scene, stack: &text, key: &key });
    }

    fn lag(&mut self, kind: LagKind, since: u64, at: u64, open: &OpenStack) {
        let stack = self.java_stack(since, at, StackStyle::Whole, open);
        let (scene, foreground) = (self.scene_at(at), self.foreground(since, at));
        self.push(at, &Issue::Lag { kind, scene: &scene, thread_stack: &stack, foreground });
    }

    fn anr(&mut self, since: u64, at: u64, slice: Slice, open: &OpenStack) {
        let age = signed(at.saturating_sub(since) / 1_000_000);
        let Stack { text, key, cost_ms } = slice.finish(at, age.max(signed(self.limits.anr_ms)));
        if self.limits.too_late_ms > 0 && cost_ms >= signed(self.limits.too_late_ms) {
            return;
        }
        let java = self.java_stack(since, at, StackStyle::Simple, open);
        let (scene, foreground) = (self.scene_at(at), self.foreground(since, at));
        let snapshot = self.facts.sections.snapshot(since, at).cloned().unwrap_or_default();
        let AnrSnapshot { priority, nice, dalvik_kib, native_kib, vm_kib, .. } = snapshot;
        let issue = Issue::Anr {
            cost_ms,
            scene: &scene,
            stack: &text,
            key: &key,
            thread_stack: &java,
            foreground,
            priority: Priority { priority: priority.unwrap_or(0), nice: nice.unwrap_or(0) },
            memory: Memory {
                dalvik_heap: dalvik_kib.unwrap_or(0),
                native_heap: native_kib.unwrap_or(0),
                vm_size: vm_kib.unwrap_or(0),
            },
        };
        self.push(at, &issue);
    }

    fn signal_anr(&mut self, anr: &Anr, open: &OpenStack) {
        let stack = self.java_stack(anr.since, anr.detected, StackStyle::Whole, open);
        let foreground = anr.verdict.as_ref().and_then(|verdict| verdict.foreground);
        let foreground = foreground.unwrap_or_else(|| self.foreground(anr.since, anr.detected));
        let scene = self.scene_at(anr.detected);
        self.push(anr.detected, &Issue::SignalAnr { scene: &scene, thread_stack: &stack, foreground });
    }

    fn java_stack(&self, since: u64, at: u64, style: StackStyle, open: &OpenStack) -> String {
        let keys = open.frames().iter().map(|open| open.key);
        let mut open: Vec<u32> = keys.filter(|key| ids::is_method(*key)).collect();
        open.drain(..open.len().saturating_sub(MAX_OPEN));
        stack_at(&self.facts.sections, self.names, (since, at), &open, (style, self.rules))
    }

    fn foreground(&self, since: u64, at: u64) -> bool {
        let recorded = self.facts.sections.snapshot(since, at).and_then(|snapshot| snapshot.foreground);
        // A window with the focus is in the foreground.
        recorded.unwrap_or_else(|| self.frames.scene_at(at).0 != 0)
    }

    fn scene_at(&self, at: u64) -> String {
        let recorded =
            self.facts.sections.snapshots.iter().find(|s| s.at == at).and_then(|s| s.scene.clone());
        recorded.unwrap_or_else(|| self.facts.text(self.frames.scene_at(at)).unwrap_or_default())
    }

    fn push(&mut self, at: u64, issue: &Issue<'_>) {
        if self.reports.len() >= MAX_ISSUES {
            return;
        }
        let n = self.clocks.partition_point(|clock| clock.boottime <= at).max(1);
        let clock = self.clocks.get(n - 1).copied().unwrap_or_default();
        let real = i128::from(clock.realtime) + i128::from(at) - i128::from(clock.boottime);
        let time_ms = i64::try_from(real / 1_000_000).unwrap_or(0);
        let envelope = Envelope { process: &self.process, time_ms, device: Device::UNKNOWN };
        self.reports.push((at, issue.to_json(&envelope)));
    }
}
