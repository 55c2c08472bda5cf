//! Whether a frame's message may be followed by callbacks of the shim.
//!
//! `postFrameCallback` asks for a vsync unless Choreographer waits for one already (AOSP `Choreographer.scheduleFrameLocked`, the
//! same from API 16 to 36). A frame's message does not prove that it does: the display's dispatcher delivers a made-up vsync after a
//! time-out and the real one later, and `doFrame` then returns at "Frame not scheduled". A callback posted into such a message
//! asks for the next vsync, and that one for the next, without end. `mFrameScheduled` is readable up to API 27 only. From there on
//! something else has to show that the app waits for this frame:
//!
//! * A followed window was drawn in the frame before, which ended a moment ago: an animation or a scroll goes on. A vsync that comes right
//!   behind the last of its frames is one too many: the shim asks for one more then. That one draws nothing, and is the last. This module.
//! * A followed window waits to be drawn (`View.isDirty`, `isLayoutRequested`): its traversal is scheduled. The shim looks (`FrameMonitor.java`).
//!
//! Where neither does, the frame has no ANIMATION stage of its own, and TRAVERSAL begins at the window's pre-draw.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// A frame that was asked for in the one before begins so long after its end at most: one interval as a rule, more where the display slows
/// down, ns.
const SOON_NS: u64 = 50_000_000;

/// What became of the last frame. Only main writes it.
#[derive(Debug)]
pub(super) struct Asked {
    /// When it ended, ns.
    ended_ns: AtomicU64,
    /// A window was drawn since a frame's message began.
    drawn: AtomicBool,
}

impl Asked {
    /// There was none.
    pub(super) const fn new() -> Self {
        Asked { ended_ns: AtomicU64::new(0), drawn: AtomicBool::new(false) }
    }

    /// A frame's message begins. Whether it goes on with what the frame before began.
    pub(super) fn frame(&self, now_ns: u64) -> bool {
        let drawn = self.drawn.load(Ordering::Relaxed);
        self.drawn.store(false, Ordering::Relaxed);
        drawn && now_ns.saturating_sub(self.ended_ns.load(Ordering::Relaxed)) <= SOON_NS
    }

    /// It ends, and was not skipped.
    pub(super) fn frame_end(&self, now_ns: u64) {
        self.ended_ns.store(now_ns, Ordering::Relaxed);
    }

    /// A window is about to be drawn.
    pub(super) fn drawn(&self) {
        self.drawn.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVAL: u64 = 16_666_667;

    /// A frame's message at `now`, which ends 2 ms later.
    fn frame(asked: &Asked, now_ns: u64, draws: bool) -> bool {
        let goes_on = asked.frame(now_ns);
        if draws {
            asked.drawn();
        }
        // One into which nothing was posted, and which draws nothing, is skipped.
        if goes_on || draws {
            asked.frame_end(now_ns + 2_000_000);
        }
        goes_on
    }

    #[test]
    fn frames_of_an_animation_go_on_and_those_after_a_pause_do_not() {
        let asked = Asked::new();
        let mut now = 1_000_000_000;
        for _ in 0..3 {
            assert!(!frame(&asked, now, true), "the first of an animation");
            for _ in 0..20 {
                now += INTERVAL;
                assert!(frame(&asked, now, true));
            }
            for _ in 0..100 {
                now += 6 * INTERVAL;
                assert!(!frame(&asked, now, false), "a vsync of a page that stands still");
            }
        }
    }

    #[test]
    fn after_a_draw_one_frame_that_draws_nothing_goes_on_and_none_after_it() {
        let asked = Asked::new();
        let mut now = 1_000_000_000;
        frame(&asked, now, true);
        let mut went_on = 0;
        for _ in 0..600 {
            now += INTERVAL;
            went_on += u32::from(frame(&asked, now, false));
        }
        assert_eq!(went_on, 1);
        assert!(!frame(&asked, now + INTERVAL, true));
        assert!(frame(&asked, now + 2 * INTERVAL, true));
    }
}
