//! Frames: what each dropped, what the system said of it, and how many came a second.

use std::collections::{BTreeMap, HashMap, HashSet};

use trace_format::event::{Frame, FrameMetrics, Stage};
use trace_rules::frame::{DropLevels, FpsMeter, Level, dropped, interval_ns};

use super::sink::{Arg, FrameRow, Jank, Sink, Unit, Value};
use crate::ExportError;

/// Frames whose figures are kept: an hour's late ones, or a quarter of an hour of 60 Hz. Main's own ring holds no more frames.
const MAX_KEPT: usize = 1 << 16;
/// How often frames a second are told, ns of a stretch of frames.
const WINDOW: u64 = 1_000_000_000;
/// A vsync so long before its frame is a damaged word, ns: ten minutes.
const FAR: u64 = 600 * WINDOW;
/// A frame that public calls tell begins with its message: the system's INPUT begins so much before that at most (the clocks are
/// read apart), or after it, ns.
const EARLY: u64 = 1_000_000;
const LATE: u64 = 4_000_000;
/// The counter of frames a second.
const FPS: &str = "FPS";
/// The counter of what each frame dropped.
const DROPPED: &str = "Dropped frames";

/// What was told of a frame apart from it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Facts {
    metrics: Option<FrameMetrics>,
    /// When its oldest input event happened.
    input: Option<u64>,
}

/// What was told of the frames, by their intended vsync: the system's figures come after a frame and on another thread.
#[derive(Debug, Default)]
pub(crate) struct FrameFacts {
    by_vsync: HashMap<u64, Facts>,
    /// Their vsyncs by when main began them.
    by_begin: BTreeMap<u64, u64>,
    /// Begins of what began as frames and was none.
    skipped: HashSet<u64>,
    /// Frames beyond those that are kept.
    pub(crate) more: u64,
}

impl FrameFacts {
    fn of(&mut self, intended: u64) -> Option<&mut Facts> {
        if self.by_vsync.len() >= MAX_KEPT && !self.by_vsync.contains_key(&intended) {
            self.more += 1;
            return None;
        }
        Some(self.by_vsync.entry(intended).or_default())
    }

    /// The system's figures of a frame. Two windows that draw for one vsync are one frame: the longer one counts.
    pub(crate) fn metrics(&mut self, metrics: FrameMetrics) {
        if let Some(facts) = self.of(metrics.intended).filter(|_| metrics.intended > 0)
            && facts.metrics.is_none_or(|known| known.total < metrics.total)
        {
            facts.metrics = Some(metrics);
            self.by_begin.insert(metrics.intended.saturating_add(metrics.delay), metrics.intended);
        }
    }

    /// The frame that began at `at`, with its vsync: public calls (`estimated`) do not tell that, and the system's figures do.
    pub(crate) fn known(&self, at: u64, frame: &Frame) -> Frame {
        if frame.intended > 0 || !frame.estimated {
            return *frame;
        }
        let near = self.by_begin.range(at.saturating_sub(EARLY)..=at.saturating_add(LATE)).next();
        Frame { intended: near.map_or(0, |(_, intended)| *intended), ..*frame }
    }

    /// When INPUT, ANIMATION and TRAVERSAL of the frame that began at `at` begin, if the system measured it (API 26).
    pub(crate) fn bounds(&self, at: u64, frame: &Frame) -> Option<[u64; 3]> {
        let metrics = self.by_vsync.get(&frame.intended)?.metrics.filter(|m| m.intended > 0)?;
        let input = metrics.intended.saturating_add(metrics.delay);
        if !(at.saturating_sub(EARLY)..=at.saturating_add(LATE)).contains(&input) {
            return None;
        }
        let input = input.max(at);
        let animation = input.saturating_add(metrics.input);
        let traversal = animation.saturating_add(metrics.animation);
        (traversal - input <= WINDOW * 60).then_some([input, animation, traversal])
    }

    /// What began as a frame at `begun` was none.
    pub(crate) fn skip(&mut self, begun: u64) {
        if self.skipped.len() < MAX_KEPT {
            self.skipped.insert(begun);
        }
    }

    /// Whether what began as a frame at `begun` was none.
    pub(crate) fn is_skipped(&self, begun: u64) -> bool {
        self.skipped.contains(&begun)
    }

    /// A frame handled input, the oldest of it from this time.
    pub(crate) fn input(&mut self, intended: u64, oldest: u64) {
        if let Some(facts) = self.of(intended).filter(|_| oldest > 0) {
            facts.input = Some(facts.input.map_or(oldest, |known| known.min(oldest)));
        }
    }
}

/// The frame that main is in.
#[derive(Clone, Copy, Debug)]
struct Open {
    frame: Frame,
    begun: u64,
}

/// Follows the frames of one thread.
#[derive(Default)]
pub(crate) struct Frames {
    open: Option<Open>,
    meter: FpsMeter,
    /// Begin of the stretch of frames whose count comes next.
    window: u64,
    /// End of the last frame; 0 before the first.
    last_end: u64,
    /// What the counter of dropped frames stands at.
    shown: u32,
    /// Frames so far, for those without a vsync's number.
    count: u64,
}

/// The level's word.
fn level_name(level: Level) -> (&'static str, &'static str) {
    match level {
        Level::Best => ("best", "drop:best"),
        Level::Normal => ("normal", "drop:normal"),
        Level::Middle => ("middle", "drop:middle"),
        Level::High => ("high", "drop:high"),
        Level::Frozen => ("frozen", "drop:frozen"),
    }
}

/// The system's name of each figure, and the figure.
fn figures(m: &FrameMetrics) -> [(&'static str, u64); 11] {
    [
        ("unknown_delay_ms", m.delay),
        ("input_ms", m.input),
        ("animation_ms", m.animation),
        ("layout_measure_ms", m.layout),
        ("draw_ms", m.draw),
        ("sync_ms", m.sync),
        ("command_issue_ms", m.command),
        ("swap_buffers_ms", m.swap),
        ("total_ms", m.total),
        ("gpu_ms", m.gpu),
        ("deadline_ms", m.deadline),
    ]
}

impl Frames {
    /// A frame began.
    pub(crate) fn begin(&mut self, at: u64, frame: Frame) {
        self.open = Some(Open { frame, begun: at });
    }

    /// Whether the stages of the frame that is open were concluded and not told.
    pub(crate) fn estimated(&self) -> bool {
        self.open.is_some_and(|open| open.frame.estimated)
    }

    /// What the system measured for a stage of the frame that is open, ns.
    pub(crate) fn measured(&self, facts: &FrameFacts, stage: Stage) -> Option<u64> {
        let metrics = facts.by_vsync.get(&self.open?.frame.intended)?.metrics?;
        match stage {
            Stage::Input => Some(metrics.input),
            Stage::Animation => Some(metrics.animation),
            Stage::Traversal => Some(metrics.layout.saturating_add(metrics.draw)),
            Stage::InsetsAnimation | Stage::Commit => None,
        }
    }

    /// The frame that began at `begun` ended at `at`, or was cut there: shows it on the frame timeline and in the counters, and
    /// adds to `args` what is known of it. Says how many samples of counters were written, if it was a frame.
    pub(crate) fn end<K: Sink>(
        &mut self,
        (begun, at): (u64, u64),
        facts: &FrameFacts,
        args: &mut Vec<Arg<'static>>,
        sink: &mut K,
    ) -> Result<Option<u64>, ExportError> {
        let Some(Open { frame, .. }) = self.open.take_if(|open| open.begun == begun) else { return Ok(None) };
        self.count += 1;
        let all = facts;
        let facts = all.by_vsync.get(&frame.intended).filter(|_| frame.intended > 0);
        let metrics = facts.and_then(|facts| facts.metrics);
        // Main tells input by the vsync that frame callbacks are told.
        let told = metrics.and_then(|metrics| all.by_vsync.get(&metrics.vsync).filter(|_| metrics.vsync > 0));
        let input = facts.and_then(|facts| facts.input).or(told.and_then(|facts| facts.input));
        let intended = Some(frame.intended).filter(|t| *t > 0 && *t <= begun && begun - t <= FAR);
        let from = intended.unwrap_or(begun);
        // The system's time goes on to the display; ours ends with main's part.
        let end = metrics.map_or(at, |m| at.max(from.saturating_add(m.total)).min(at.saturating_add(WINDOW)));
        let told = (1..=WINDOW).contains(&frame.interval);
        let interval = if told { frame.interval } else { interval_ns(0.0) };
        let lost = dropped(end.saturating_sub(from), interval).whole();
        let level = DropLevels::default().of(lost);
        let (word, group) = level_name(level);

        if frame.estimated {
            args.push(Arg::new("estimated", Value::Bool(true)));
        }
        if told {
            args.push(Arg::new("dropped", Value::Uint(lost.into())));
            args.push(Arg::new("drop_level", Value::Text(word)));
            args.push(Arg::group(group));
        }
        if let Some(oldest) = input.filter(|oldest| *oldest <= at) {
            args.push(Arg::new("input_latency_ms", Value::Millis(at - oldest)));
        }
        if let Some(metrics) = &metrics {
            let known = figures(metrics).into_iter().filter(|(_, ns)| *ns > 0);
            args.extend(known.map(|(key, ns)| Arg::new(key, Value::Millis(ns))));
        }

        let late = match lost {
            0 => Jank::None,
            _ if level == Level::Frozen => Jank::Frozen,
            _ => Jank::Late,
        };
        let expected = intended.map(|intended| (intended, intended.saturating_add(interval)));
        let token = if frame.vsync > 0 { frame.vsync } else { self.count };
        sink.frame(&FrameRow { token, expected, actual: (begun, end), jank: late })?;
        Ok(Some(self.count_up(from, at, interval, lost, sink)?))
    }

    /// The counters; says how many samples were written.
    fn count_up<K: Sink>(
        &mut self,
        from: u64,
        at: u64,
        interval: u64,
        lost: u32,
        sink: &mut K,
    ) -> Result<u64, ExportError> {
        let mut samples = 0;
        let mut sample = |at, name, unit, value| {
            samples += 1;
            sink.counter(at, name, unit, value)
        };
        // Nothing was drawn for a while: nobody should read the last figure on.
        let idle = self.last_end > 0 && from > self.last_end.saturating_add(WINDOW);
        if idle {
            if self.meter.frames() > 0 {
                sample(self.window, FPS, Unit::Sign("fps"), f64::from(self.meter.centi_fps()) / 100.0)?;
            }
            sample(self.last_end, FPS, Unit::Sign("fps"), 0.0)?;
            self.meter.pause();
            self.meter.restart();
        }
        if self.last_end == 0 || idle {
            self.window = from;
        }
        self.meter.frame(from, at, interval);
        if at.saturating_sub(self.window) >= WINDOW {
            // Told at the begin of the stretch that it is true of.
            sample(self.window, FPS, Unit::Sign("fps"), f64::from(self.meter.centi_fps()) / 100.0)?;
            self.meter.restart();
            self.window = at;
        }
        self.last_end = at;
        if lost != self.shown {
            self.shown = lost;
            sample(at, DROPPED, Unit::Sign("frames"), lost.into())?;
        }
        Ok(samples)
    }

    /// Nothing comes any more: tells what is not told yet, and says how many samples that were.
    pub(crate) fn finish<K: Sink>(&mut self, sink: &mut K) -> Result<u64, ExportError> {
        let mut samples = 0;
        if self.meter.frames() > 0 {
            sink.counter(self.window, FPS, Unit::Sign("fps"), f64::from(self.meter.centi_fps()) / 100.0)?;
            samples += 1;
        }
        if self.last_end > 0 {
            sink.counter(self.last_end, FPS, Unit::Sign("fps"), 0.0)?;
            samples += 1;
        }
        Ok(samples)
    }
}
