//! Replaces the stages of a frame by those that the system measured.
//!
//! Public calls do not show when a stage starts: the recorder's estimate is when its own callbacks ran, and
//! callbacks that the app posts in INPUT run after those. `FrameMetrics` has the true bounds (AOSP
//! `FrameMetrics.java`, API 26 to 34): UNKNOWN_DELAY lasts from the intended vsync to the start of INPUT,
//! INPUT_HANDLING to that of ANIMATION, ANIMATION to that of TRAVERSAL.

use std::collections::VecDeque;

use trace_format::event::Stage;

use super::sink::Sink;
use super::thread::ThreadPass;
use crate::ExportError;
use crate::facts::typed;

/// The action at a bound.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
    Begin(Stage),
    End,
}

/// The upcoming bounds of a frame's stages.
#[derive(Debug)]
pub(super) struct MeasuredStages {
    steps: VecDeque<(u64, Step)>,
    /// Depth of the stack in the frame.
    depth: usize,
}

impl MeasuredStages {
    /// `begins`: the starts of INPUT, ANIMATION and TRAVERSAL. A stage without duration is omitted.
    pub(super) fn new([input, animation, traversal]: [u64; 3], depth: usize) -> Self {
        let mut steps = VecDeque::with_capacity(5);
        for (stage, from, to) in [(Stage::Input, input, animation), (Stage::Animation, animation, traversal)]
        {
            if from < to {
                steps.push_back((from, Step::Begin(stage)));
                steps.push_back((to, Step::End));
            }
        }
        steps.push_back((traversal, Step::Begin(Stage::Traversal)));
        Self { steps, depth }
    }

    /// True for a stage whose bounds are known.
    pub(super) fn has(stage: Stage) -> bool {
        matches!(stage, Stage::Input | Stage::Animation | Stage::Traversal)
    }
}

impl<K: Sink> ThreadPass<'_, '_, K> {
    /// Writes the bounds until `at`. A call that spans one because of the difference of the clocks ends first.
    #[cold]
    pub(super) fn stages_until(&mut self, at: u64) -> Result<(), ExportError> {
        while let Some(measured) = &mut self.measured
            && let Some((due, step)) = measured.steps.front().copied().filter(|(due, _)| *due <= at)
        {
            let open = usize::from(step == Step::End);
            if self.shown.len() != measured.depth + open {
                break;
            }
            measured.steps.pop_front();
            self.now = self.now.max(due);
            match step {
                Step::Begin(stage) => self.stage(self.now, stage)?,
                Step::End => self.close(self.now)?,
            }
        }
        Ok(())
    }

    /// Handles the end of an item that is not shown. Of the recorder's own stages of a frame with measured bounds only the end of
    /// TRAVERSAL is needed.
    #[cold]
    pub(super) fn end_hidden(&mut self, at: u64, key: u32) -> Result<(), ExportError> {
        let is_open = self.shown.last().is_some_and(|open| open.key == key);
        if is_open && key == typed(Stage::Traversal as u8) { self.close(at) } else { Ok(()) }
    }

    /// Ends the open stage of the frame, which ends.
    pub(super) fn end_measured(&mut self, at: u64) -> Result<(), ExportError> {
        let depth = self.measured.take().map_or(0, |measured| measured.depth);
        if self.shown.len() > depth { self.close(at) } else { Ok(()) }
    }
}
