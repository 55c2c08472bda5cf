//! What a recording says of frames apart from them: the system's figures, input, and which began and were none.

use std::collections::{BTreeMap, HashMap, HashSet};

use trace_format::event::{Frame, FrameMetrics};

/// Frames whose figures are kept: an hour's late ones, or a quarter of an hour of 60 Hz. Main's own ring holds no more frames.
const MAX_KEPT: usize = 1 << 16;
/// A frame that public calls tell begins with its message: the system's INPUT begins so much before that at most (the clocks are
/// read apart), or after it, ns.
const EARLY: u64 = 1_000_000;
const LATE: u64 = 4_000_000;
/// The stages of a frame together take no longer, ns: longer ones are damage.
const MINUTE: u64 = 60_000_000_000;

/// What the recording says of a frame apart from it.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Told {
    pub(crate) metrics: Option<FrameMetrics>,
    /// When its oldest input event happened.
    pub(crate) input: Option<u64>,
}

/// What the recording says of frames apart from them, by their intended vsync: the system's figures come after a frame and on another thread.
#[derive(Debug, Default)]
pub(crate) struct FrameFacts {
    by_vsync: HashMap<u64, Told>,
    /// Their vsyncs by when main began them.
    by_begin: BTreeMap<u64, u64>,
    /// Begins of what began as frames and was none.
    skipped: HashSet<u64>,
    /// Frames beyond those that are kept.
    pub(crate) more: u64,
}

impl FrameFacts {
    fn of(&mut self, intended: u64) -> Option<&mut Told> {
        if self.by_vsync.len() >= MAX_KEPT && !self.by_vsync.contains_key(&intended) {
            self.more += 1;
            return None;
        }
        Some(self.by_vsync.entry(intended).or_default())
    }

    /// What is known of the frame that is for this vsync; nothing of one whose vsync is not known.
    pub(crate) fn of_vsync(&self, vsync: u64) -> Option<&Told> {
        self.by_vsync.get(&vsync).filter(|_| vsync > 0)
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
        (traversal - input <= MINUTE).then_some([input, animation, traversal])
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
