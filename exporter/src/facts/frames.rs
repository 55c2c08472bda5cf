//! What a recording has about frames besides their events: the system's metrics, input, and frames that were
//! skipped.

use std::collections::{BTreeMap, HashMap, HashSet};

use trace_format::event::{Frame, FrameMetrics};

/// Maximum number of frames whose metrics are kept: an hour's late ones, or a quarter of an hour at 60 Hz.
/// Main's own ring holds no more frames.
const MAX_MEASURED: usize = 1 << 16;
/// Tolerance around the start of a frame known only from public calls, which is the start of its message: the
/// system's INPUT starts at most this much before it (the clocks are read separately), or after it, ns.
const MAX_EARLY: u64 = 1_000_000;
const MAX_LATE: u64 = 4_000_000;
/// Maximum duration of all stages of a frame, ns; longer ones are damaged data.
const MAX_STAGES: u64 = 60_000_000_000;

/// What the recording has about a frame besides its event.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct FrameDetails {
    pub(crate) metrics: Option<FrameMetrics>,
    /// Time of its oldest input event.
    pub(crate) input: Option<u64>,
}

/// What the recording has about frames besides their events, by intended vsync: the system's metrics arrive
/// after a frame and on another thread.
#[derive(Debug, Default)]
pub(crate) struct FrameFacts {
    by_vsync: HashMap<u64, FrameDetails>,
    /// Vsync by the time at which main started the frame.
    by_begin: BTreeMap<u64, u64>,
    /// Starts of frames that were skipped.
    skipped: HashSet<u64>,
    /// Number of frames whose metrics the system dropped.
    pub(crate) metrics_dropped: u64,
    /// Number of frames beyond the limit.
    pub(crate) more: u64,
}

impl FrameFacts {
    fn of(&mut self, intended: u64) -> Option<&mut FrameDetails> {
        if self.by_vsync.len() >= MAX_MEASURED && !self.by_vsync.contains_key(&intended) {
            self.more += 1;
            return None;
        }
        Some(self.by_vsync.entry(intended).or_default())
    }

    /// What is known of the frame for this vsync; `None` if the frame has no known vsync.
    pub(crate) fn of_vsync(&self, vsync: u64) -> Option<&FrameDetails> {
        self.by_vsync.get(&vsync).filter(|_| vsync > 0)
    }

    /// Adds the system's metrics of a frame. If two windows draw for one vsync, that is one frame, and the
    /// longer one counts.
    pub(crate) fn metrics(&mut self, metrics: FrameMetrics) {
        if let Some(facts) = self.of(metrics.intended).filter(|_| metrics.intended > 0)
            && facts.metrics.is_none_or(|known| known.total < metrics.total)
        {
            facts.metrics = Some(metrics);
            self.by_begin.insert(metrics.intended.saturating_add(metrics.delay), metrics.intended);
        }
    }

    /// The frame that began at `at`, with its vsync, which public calls (`estimated`) do not provide but the
    /// system's metrics do.
    pub(crate) fn known(&self, at: u64, frame: &Frame) -> Frame {
        if frame.intended > 0 || !frame.estimated {
            return *frame;
        }
        let near = self.by_begin.range(at.saturating_sub(MAX_EARLY)..=at.saturating_add(MAX_LATE)).next();
        Frame { intended: near.map_or(0, |(_, intended)| *intended), ..*frame }
    }

    /// The start of INPUT, ANIMATION and TRAVERSAL of the frame that began at `at`, if the system measured it
    /// (API 26).
    pub(crate) fn bounds(&self, at: u64, frame: &Frame) -> Option<[u64; 3]> {
        let metrics = self.by_vsync.get(&frame.intended)?.metrics.filter(|m| m.intended > 0)?;
        let input = metrics.intended.saturating_add(metrics.delay);
        if !(at.saturating_sub(MAX_EARLY)..=at.saturating_add(MAX_LATE)).contains(&input) {
            return None;
        }
        let input = input.max(at);
        let animation = input.saturating_add(metrics.input);
        let traversal = animation.saturating_add(metrics.animation);
        (traversal - input <= MAX_STAGES).then_some([input, animation, traversal])
    }

    /// Notes that the frame that began at `begun` was skipped.
    pub(crate) fn skip(&mut self, begun: u64) {
        if self.skipped.len() < MAX_MEASURED {
            self.skipped.insert(begun);
        }
    }

    /// Whether the frame that began at `begun` was skipped.
    pub(crate) fn is_skipped(&self, begun: u64) -> bool {
        self.skipped.contains(&begun)
    }

    /// Notes a frame's input; `oldest` is the time of its oldest event.
    pub(crate) fn input(&mut self, intended: u64, oldest: u64) {
        if let Some(facts) = self.of(intended).filter(|_| oldest > 0) {
            facts.input = Some(facts.input.map_or(oldest, |known| known.min(oldest)));
        }
    }
}
