//! Whether the shim may post callbacks into a frame's message.
//!
//! `postFrameCallback` requests a vsync unless Choreographer waits for one already (AOSP
//! `Choreographer.scheduleFrameLocked`, the same from API 16 to 36). A frame's message does not prove that
//! it does: the display's dispatcher delivers a made-up vsync after a time-out and the real one later, and
//! `doFrame` then returns at "Frame not scheduled". A callback posted into such a message requests the next
//! vsync, and that one the next, without end. `mFrameScheduled` is readable up to API 27 only. From there
//! on something else must show that the app waits for this frame:
//!
//! * A tracked window was drawn in the previous frame, which ended a moment ago: an animation or a scroll
//!   continues. A vsync right after the last of its frames is one too many: the shim then requests one
//!   more, which draws nothing and is the last. This module decides that.
//! * A tracked window waits to be drawn (`View.isDirty`, `isLayoutRequested`): its traversal is scheduled.
//!   The shim checks that (`FrameMonitor.java`).
//!
//! Otherwise the frame has no ANIMATION stage of its own, and TRAVERSAL begins at the window's
//! pre-draw.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The longest time between the end of a frame and the start of one that it requested, ns: normally one
/// interval, more where the display slows down.
const MAX_GAP_NS: u64 = 50_000_000;

/// The last frame. Only main writes it.
#[derive(Debug)]
pub(super) struct Continuation {
    /// When it ended, ns.
    ended_ns: AtomicU64,
    /// Whether a window was drawn since a frame's message began.
    drawn: AtomicBool,
}

impl Continuation {
    /// No frame yet.
    pub(super) const fn new() -> Self {
        Continuation { ended_ns: AtomicU64::new(0), drawn: AtomicBool::new(false) }
    }

    /// Notes that a frame's message begins. Returns whether it continues what the previous frame began.
    pub(super) fn frame(&self, now_ns: u64) -> bool {
        let drawn = self.drawn.load(Ordering::Relaxed);
        self.drawn.store(false, Ordering::Relaxed);
        drawn && now_ns.saturating_sub(self.ended_ns.load(Ordering::Relaxed)) <= MAX_GAP_NS
    }

    /// Notes that the frame ends and was not skipped.
    pub(super) fn frame_end(&self, now_ns: u64) {
        self.ended_ns.store(now_ns, Ordering::Relaxed);
    }

    /// Notes that a window is about to be drawn.
    pub(super) fn drawn(&self) {
        self.drawn.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: u64 = 16_666_667;

    /// A frame's message at `now`, which ends 2 ms later.
    fn frame(continuation: &Continuation, now_ns: u64, draws: bool) -> bool {
        let goes_on = continuation.frame(now_ns);
        if draws {
            continuation.drawn();
        }
        // A frame into which nothing was posted, and which draws nothing, is skipped.
        if goes_on || draws {
            continuation.frame_end(now_ns + 2_000_000);
        }
        goes_on
    }

    #[test]
    fn frames_of_an_animation_continue_and_those_after_a_pause_do_not() {
        let continuation = Continuation::new();
        let mut now = 1_000_000_000;
        for _ in 0..3 {
            assert!(!frame(&continuation, now, true), "the first of an animation");
            for _ in 0..20 {
                now += INTERVAL;
                assert!(frame(&continuation, now, true));
            }
            for _ in 0..100 {
                now += 6 * INTERVAL;
                assert!(!frame(&continuation, now, false), "a vsync of a page that stands still");
            }
        }
    }

    #[test]
    fn after_a_draw_only_one_frame_that_draws_nothing_continues() {
        let continuation = Continuation::new();
        let mut now = 1_000_000_000;
        frame(&continuation, now, true);
        let mut went_on = 0;
        for _ in 0..600 {
            now += INTERVAL;
            went_on += u32::from(frame(&continuation, now, false));
        }
        assert_eq!(went_on, 1);
        assert!(!frame(&continuation, now + INTERVAL, true));
        assert!(frame(&continuation, now + 2 * INTERVAL, true));
    }
}
