//! Finds what main recorded of a frame that a window's `FrameMetrics` describe.

use std::collections::VecDeque;

use super::queue::Finished;
use super::{FINISHED, begun_ns};
use crate::time;

/// A frame's INPUT begins with its message or a little later; the two times come from different clock
/// reads, ns.
const EARLY_NS: u64 = 1_000_000;

/// The result of a search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Found {
    Frame(Finished),
    /// Main has not ended the frame.
    NotYet,
    /// Main has recorded nothing of the frame.
    Nothing,
}

/// Frames that main has ended, oldest first.
#[derive(Debug, Default)]
pub(super) struct Seen {
    front: Option<Finished>,
}

impl Seen {
    /// Takes the oldest frame.
    pub(super) fn next(&mut self) -> Option<Finished> {
        self.front.take().or_else(|| FINISHED.pop())
    }

    /// Finds the frame that main began at `began_ns`. It stays, for another window's metrics of the same
    /// vsync.
    pub(super) fn at(&mut self, began_ns: u64) -> Found {
        // Read first: a frame that ends meanwhile is in the queue before this shows it.
        let open = begun_ns();
        while let Some(front) = self.next() {
            if front.costs.ended_ns < began_ns {
                // A frame of a window that is not tracked.
                continue;
            }
            self.front = Some(front);
            if front.costs.begun_ns <= began_ns.saturating_add(EARLY_NS) {
                return Found::Frame(front);
            }
            return Found::Nothing;
        }
        let is_this = open != 0 && (open.saturating_sub(EARLY_NS)..=time::now()).contains(&began_ns);
        if is_this { Found::NotYet } else { Found::Nothing }
    }

    /// Takes all frames that ended before `began_ns`, and returns the last `most` of them, oldest first.
    pub(super) fn before(&mut self, began_ns: u64, most: usize) -> VecDeque<Finished> {
        let mut before = VecDeque::new();
        while let Some(front) = self.next() {
            if front.costs.ended_ns >= began_ns {
                self.front = Some(front);
                break;
            }
            if before.len() == most {
                before.pop_front();
            }
            before.push_back(front);
        }
        before
    }

    /// Takes the next frame in order, for systems that report no vsync (API 24 and 25).
    pub(super) fn in_order(&mut self) -> Found {
        let open = begun_ns();
        match self.next() {
            Some(frame) => Found::Frame(frame),
            None if open != 0 => Found::NotYet,
            None => Found::Nothing,
        }
    }
}
