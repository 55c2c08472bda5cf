package dev.anrscope;

import android.os.SystemClock;
import android.view.Choreographer;

/**
 * The stages by public calls. When the Looper announces a frame's message, Choreographer has asked for that vsync long ago, and has not
 * begun the frame: what is posted then runs in this very frame, and no other vsync is asked for because of it. Callbacks are in the order
 * of their times, so one that should have run long ago is the first of the ANIMATION stage, and one of now the last.
 */
final class FrameCallbacks {
    private final Choreographer choreographer;

    /** ANIMATION begins. */
    private final Mark first = new Mark(FrameMonitor.ANIMATION);

    /** It is over. */
    private final Mark last = new Mark(FrameMonitor.TRAVERSAL);

    FrameCallbacks(Choreographer choreographer) {
        this.choreographer = choreographer;
    }

    /** A frame's message begins. */
    void frame() {
        // One of a frame that Choreographer skipped waits still.
        if (!first.waits) {
            first.waits = true;
            try {
                choreographer.postFrameCallbackDelayed(first, -SystemClock.uptimeMillis());
            } catch (RuntimeException refused) {
                // A system that minds a time in the past: it waits for good, and ANIMATION is part of INPUT.
            }
        }
        if (!last.waits) {
            last.waits = true;
            choreographer.postFrameCallback(last);
        }
    }

    void stop() {
        choreographer.removeFrameCallback(first);
        choreographer.removeFrameCallback(last);
    }

    private static final class Mark implements Choreographer.FrameCallback {
        private final int stage;
        boolean waits;

        Mark(int stage) {
            this.stage = stage;
        }

        @Override
        public void doFrame(long frameTimeNanos) {
            waits = false;
            FrameMonitor.stage(stage, stage == FrameMonitor.ANIMATION ? frameTimeNanos : 0, true);
        }
    }
}
