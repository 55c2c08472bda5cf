//! Frames: dropped vsyncs, the system's metrics, and frames per second.

use trace_format::android::ANR_LIMIT_NS;
use trace_format::event::{Frame, FrameMetrics, Stage};
use trace_rules::frame::{DropLevels, FpsMeter, Level, dropped, interval_ns};

use super::sink::{Arg, FrameRow, Jank, Sink, TallySink, Unit, Value};
use crate::ExportError;
use crate::facts::FrameFacts;

/// Duration of a message from which main counts as unresponsive, ns.
const UNRESPONSIVE_TIME: u64 = ANR_LIMIT_NS;
/// Interval of the frames-per-second counter, ns of continuous frames.
const FPS_WINDOW: u64 = 1_000_000_000;
/// Maximum plausible delay from a vsync to its frame, ns: ten minutes; beyond it the word is damaged.
const MAX_VSYNC_DELAY: u64 = 600 * FPS_WINDOW;
/// The counter of frames per second.
const FPS: &str = "FPS";
/// The counter of vsyncs dropped by each frame.
const DROPPED: &str = "Dropped frames";

/// The frame that main is in.
#[derive(Clone, Copy, Debug)]
struct Open {
    frame: Frame,
    begun: u64,
}

/// Tracks the frames of one thread.
#[derive(Default)]
pub(crate) struct Frames {
    open: Option<Open>,
    meter: FpsMeter,
    /// Start of the current interval of frames.
    window: u64,
    /// End of the last frame; 0 before the first.
    last_end: u64,
    /// The current value of the counter of dropped frames.
    shown: u32,
    /// Number of frames so far, for those without a vsync number.
    count: u64,
    /// Start of the last frame; 0 before the first.
    last_begin: u64,
}

/// The level's name in the trace.
fn level_name(level: Level) -> (&'static str, &'static str) {
    match level {
        Level::Best => ("best", "drop:best"),
        Level::Normal => ("normal", "drop:normal"),
        Level::Middle => ("middle", "drop:middle"),
        Level::High => ("high", "drop:high"),
        Level::Frozen => ("frozen", "drop:frozen"),
    }
}

/// The system's name of each metric, and its value.
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
    /// Notes that a frame started.
    pub(crate) fn begin(&mut self, at: u64, frame: Frame) {
        self.open = Some(Open { frame, begun: at });
        self.last_begin = at;
    }

    /// Notes that a message of main ran from `begun` to `at`, or was cut there. If it was too long for a frame,
    /// none started in it and some were requested, the missed vsyncs are one frozen frame.
    pub(super) fn missed<K: Sink>(
        &mut self,
        (begun, at): (u64, u64),
        out: &mut TallySink<'_, K>,
    ) -> Result<(), ExportError> {
        let took = at.saturating_sub(begun);
        let lost = dropped(took, interval_ns(0.0)).whole();
        let frozen = DropLevels::default().level(lost) == Level::Frozen;
        // Frames were drawn just before; otherwise the system itself would report an unresponsive app.
        let wanted = self.last_end > 0
            && (begun.saturating_sub(self.last_end) < FPS_WINDOW || took >= UNRESPONSIVE_TIME);
        if !frozen || !wanted || self.last_begin >= begun {
            return Ok(());
        }
        self.count += 1;
        out.frame(&FrameRow { token: self.count, expected: None, actual: (begun, at), jank: Jank::Frozen })
    }

    /// Whether the stages of the open frame were inferred rather than reported.
    pub(crate) fn estimated(&self) -> bool {
        self.open.is_some_and(|open| open.frame.estimated)
    }

    /// The duration that the system measured for a stage of the open frame, ns.
    pub(crate) fn measured(&self, facts: &FrameFacts, stage: Stage) -> Option<u64> {
        let metrics = facts.of_vsync(self.open?.frame.intended)?.metrics?;
        match stage {
            Stage::Input => Some(metrics.input),
            Stage::Animation => Some(metrics.animation),
            Stage::Traversal => Some(metrics.layout.saturating_add(metrics.draw)),
            Stage::InsetsAnimation | Stage::Commit => None,
        }
    }

    /// Ends the frame that began at `begun`, or cuts it at `at`: writes the frame timeline and the counters,
    /// and adds what is known of it to `args`.
    pub(super) fn end<K: Sink>(
        &mut self,
        (begun, at): (u64, u64),
        facts: &FrameFacts,
        args: &mut Vec<Arg<'static>>,
        out: &mut TallySink<'_, K>,
    ) -> Result<(), ExportError> {
        let Some(Open { frame, .. }) = self.open.take_if(|open| open.begun == begun) else { return Ok(()) };
        self.count += 1;
        let all = facts;
        let facts = all.of_vsync(frame.intended);
        let metrics = facts.and_then(|facts| facts.metrics);
        // Main records input by the vsync that frame callbacks receive.
        let known = metrics.and_then(|metrics| all.of_vsync(metrics.vsync));
        let input = facts.and_then(|facts| facts.input).or(known.and_then(|facts| facts.input));
        let intended = Some(frame.intended).filter(|t| *t > 0 && *t <= begun && begun - t <= MAX_VSYNC_DELAY);
        let from = intended.unwrap_or(begun);
        // The system's time extends to the display; the recorded one ends with main's part.
        let end =
            metrics.map_or(at, |m| at.max(from.saturating_add(m.total)).min(at.saturating_add(FPS_WINDOW)));
        let known = (1..=FPS_WINDOW).contains(&frame.interval);
        let interval = if known { frame.interval } else { interval_ns(0.0) };
        let lost = dropped(end.saturating_sub(from), interval).whole();
        let level = DropLevels::default().level(lost);
        let (word, group) = level_name(level);

        if frame.estimated {
            args.push(Arg::new("estimated", Value::Bool(true)));
        }
        if known {
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
        out.frame(&FrameRow { token, expected, actual: (begun, end), jank: late })?;
        self.count_up(from, at, interval, lost, out)
    }

    /// Writes the counters.
    fn count_up<K: Sink>(
        &mut self,
        from: u64,
        at: u64,
        interval: u64,
        lost: u32,
        out: &mut TallySink<'_, K>,
    ) -> Result<(), ExportError> {
        // Nothing was drawn for a while: end the last value.
        let idle = self.last_end > 0 && from > self.last_end.saturating_add(FPS_WINDOW);
        if idle {
            self.finish(out)?;
            self.meter.pause();
            self.meter.restart();
        }
        if self.last_end == 0 || idle {
            self.window = from;
        }
        self.meter.frame(from, at, interval);
        if at.saturating_sub(self.window) >= FPS_WINDOW {
            // Written at the start of the interval to which it applies.
            self.fps(out)?;
            self.meter.restart();
            self.window = at;
        }
        self.last_end = at;
        if lost != self.shown {
            self.shown = lost;
            out.counter(at, DROPPED, Unit::Sign("frames"), lost.into())?;
        }
        Ok(())
    }

    /// Writes the frames per second of the current interval.
    fn fps<K: Sink>(&self, out: &mut TallySink<'_, K>) -> Result<(), ExportError> {
        out.counter(self.window, FPS, Unit::Sign("fps"), f64::from(self.meter.centi_fps()) / 100.0)
    }

    /// Ends the frames per second with what the last interval has, and 0 from there on.
    pub(super) fn finish<K: Sink>(&self, out: &mut TallySink<'_, K>) -> Result<(), ExportError> {
        if self.meter.frames() > 0 {
            self.fps(out)?;
        }
        if self.last_end > 0 {
            out.counter(self.last_end, FPS, Unit::Sign("fps"), 0.0)?;
        }
        Ok(())
    }
}
