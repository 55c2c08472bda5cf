//! Tracks the stage of the frame that main is in.
//!
//! Below API 24, and wherever Choreographer's queues are accessible, a callback at the head of each queue marks exactly when
//! a stage begins. Elsewhere public calls estimate it: the message of the frame begins (INPUT), the first of our frame
//! callbacks runs (ANIMATION), the last one does, or a window's pre-draw listener (TRAVERSAL); FrameMetrics give the exact
//! costs when the frame is over, but a frame that hangs is never over. In both cases the open stage is one word that any
//! thread can read.
//!
//! A message that is no frame has no stages: nothing remains of the frame before (Matrix reports the old costs again).

use std::sync::atomic::{AtomicU64, Ordering};

use trace_format::event::Stage;

/// The stage that is open.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenStage {
    /// Which.
    pub stage: Stage,
    /// When it began, ns.
    pub since_ns: u64,
    /// Whether that is estimated.
    pub estimated: bool,
}

/// The cost of a frame on main.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FrameCosts {
    /// The vsync that it was for, ns; the frame's start if that is not known.
    pub intended_ns: u64,
    /// When its message began, ns.
    pub begun_ns: u64,
    /// When its message ended, ns.
    pub ended_ns: u64,
    /// How long each stage took, ns; 0 for a stage that did not run, or is not distinguished on this system.
    pub stages: [u64; Stage::COUNT],
    /// Which of them are estimated, a bit each.
    pub estimated: u8,
}

impl FrameCosts {
    /// From the intended vsync to the end, ns.
    #[must_use]
    pub fn took_ns(&self) -> u64 {
        self.ended_ns.saturating_sub(self.intended_ns)
    }

    /// Replaces the measured costs with the FrameMetrics of the same frame. INSETS_ANIMATION is part of their
    /// animation, and COMMIT of nothing.
    pub fn refine(&mut self, sample: &super::sample::Sample) {
        use super::sample::Metric::{Animation, Draw, InputHandling, LayoutMeasure};
        let ns = |metric| u64::try_from(sample.metric(metric)).unwrap_or(0);
        self.stages[Stage::Input.index()] = ns(InputHandling);
        self.stages[Stage::Animation.index()] =
            ns(Animation).saturating_sub(self.stages[Stage::InsetsAnimation.index()]);
        self.stages[Stage::Traversal.index()] = ns(LayoutMeasure) + ns(Draw);
        self.estimated &= 1 << Stage::Commit.index();
    }
}

const ESTIMATED: u64 = 1 << 3;

/// The frame that main is in. Written by main, read by any thread; no allocation, no lock.
#[derive(Debug, Default)]
pub struct Stages {
    /// Stage + 1 in 3 bits, whether estimated in one, and its start in 60 (36 years of ns); 0 if none is open.
    open: AtomicU64,
    stages: [AtomicU64; Stage::COUNT],
    /// Start and intended vsync of the frame; a start of 0 means no frame.
    frame: [AtomicU64; 2],
    /// How many messages are around the frame's.
    nested: AtomicU64,
    /// `nested` of a frame in a loop nested in this frame, plus one; 0 without such a frame.
    inner: AtomicU64,
    estimated: AtomicU64,
}

impl Stages {
    /// No frame.
    #[must_use]
    pub const fn new() -> Self {
        Stages {
            open: AtomicU64::new(0),
            stages: [const { AtomicU64::new(0) }; Stage::COUNT],
            frame: [const { AtomicU64::new(0) }; 2],
            nested: AtomicU64::new(0),
            inner: AtomicU64::new(0),
            estimated: AtomicU64::new(0),
        }
    }

    /// A message begins inside of `nested` others ([`crate::looper::Begun::nested`]). A frame that is still open there lost
    /// its end.
    pub fn message_begin(&self, nested: u8) {
        if self.frame[0].load(Ordering::Relaxed) != 0
            && u64::from(nested) <= self.nested.load(Ordering::Relaxed)
        {
            self.forget();
        }
    }

    fn forget(&self) {
        self.open.store(0, Ordering::Release);
        self.inner.store(0, Ordering::Relaxed);
        self.frame[0].store(0, Ordering::Relaxed);
    }

    /// The message that began is a frame's. `intended_ns` is its vsync, 0 if not known. A frame in a loop nested in another
    /// frame is not tracked: main is in the outer frame's stage. Returns whether it is tracked.
    pub fn frame_begin(&self, at_ns: u64, intended_ns: u64, nested: u8) -> bool {
        if self.frame[0].load(Ordering::Relaxed) != 0
            && u64::from(nested) > self.nested.load(Ordering::Relaxed)
        {
            self.inner.store(u64::from(nested) + 1, Ordering::Relaxed);
            return false;
        }
        self.forget();
        self.nested.store(u64::from(nested), Ordering::Relaxed);
        for stage in &self.stages {
            stage.store(0, Ordering::Relaxed);
        }
        self.estimated.store(0, Ordering::Relaxed);
        self.frame[0].store(at_ns.max(1), Ordering::Relaxed);
        self.frame[1].store(if intended_ns == 0 { at_ns } else { intended_ns }, Ordering::Relaxed);
        true
    }

    /// Sets the frame's vsync while it runs: a frame callback got it (API 33), or its time field was read.
    pub fn intended(&self, intended_ns: u64) {
        self.frame[1].store(intended_ns, Ordering::Relaxed);
    }

    /// The frame is in `stage` from now on. Outside of a frame, or when it is in that stage or a later one, nothing
    /// happens: a second pre-draw listener, or a callback of an earlier stage that runs late. Returns whether the frame
    /// has entered the stage.
    pub fn stage(&self, at_ns: u64, stage: Stage, estimated: bool) -> bool {
        if self.frame[0].load(Ordering::Relaxed) == 0 || self.inner.load(Ordering::Relaxed) != 0 {
            return false;
        }
        if let Some(open) = self.open() {
            if open.stage >= stage {
                return false;
            }
            self.close(open, at_ns, estimated);
        }
        let flag = if estimated { ESTIMATED } else { 0 };
        self.open.store(at_ns << 4 | flag | (stage.index() as u64 + 1), Ordering::Release);
        true
    }

    /// Adds the costs of `open` up to now. They are estimated if its start or its end is.
    fn close(&self, open: OpenStage, at_ns: u64, estimated: bool) {
        let at = open.stage.index();
        self.stages[at].store(at_ns.saturating_sub(open.since_ns), Ordering::Relaxed);
        if open.estimated || estimated {
            self.estimated.store(self.estimated.load(Ordering::Relaxed) | 1 << at, Ordering::Relaxed);
        }
    }

    /// A message inside of `nested` others ends, whether it was a frame or not. Returns the cost of the frame, if it was one: the open
    /// stage ends with it.
    pub fn message_end(&self, at_ns: u64, nested: u8) -> Option<FrameCosts> {
        if self.inner.load(Ordering::Relaxed) == u64::from(nested) + 1 {
            self.inner.store(0, Ordering::Relaxed);
        }
        let begun_ns = self.frame[0].load(Ordering::Relaxed);
        if begun_ns == 0 || u64::from(nested) != self.nested.load(Ordering::Relaxed) {
            return None;
        }
        if let Some(open) = self.open() {
            self.close(open, at_ns, false);
        }
        let costs = self.costs(at_ns);
        self.forget();
        Some(costs)
    }

    /// The open stage. Any thread.
    #[must_use]
    pub fn open(&self) -> Option<OpenStage> {
        let word = self.open.load(Ordering::Acquire);
        let stage = *Stage::ALL.get((word as usize & 7).checked_sub(1)?)?;
        Some(OpenStage { stage, since_ns: word >> 4, estimated: word & ESTIMATED != 0 })
    }

    /// The cost so far of the frame that main is in, with the open stage; `None` outside of a frame. Any thread:
    /// meant for a main thread that hangs, so that nothing changes meanwhile.
    #[must_use]
    pub fn running(&self, now_ns: u64) -> Option<FrameCosts> {
        if self.frame[0].load(Ordering::Relaxed) == 0 {
            return None;
        }
        let mut costs = self.costs(now_ns);
        if let Some(open) = self.open() {
            costs.stages[open.stage.index()] = now_ns.saturating_sub(open.since_ns);
            costs.estimated |= u8::from(open.estimated) << open.stage.index();
        }
        Some(costs)
    }

    fn costs(&self, ended_ns: u64) -> FrameCosts {
        FrameCosts {
            begun_ns: self.frame[0].load(Ordering::Relaxed),
            intended_ns: self.frame[1].load(Ordering::Relaxed),
            ended_ns,
            stages: std::array::from_fn(|at| self.stages[at].load(Ordering::Relaxed)),
            estimated: self.estimated.load(Ordering::Relaxed) as u8,
        }
    }
}
