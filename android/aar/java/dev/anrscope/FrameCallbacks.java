package dev.anrscope;

import android.os.Build;
import android.os.SystemClock;
import android.view.Choreographer;
import java.lang.reflect.Field;

/**
 * The stages by public calls. When the Looper announces a frame's message, Choreographer has asked for that vsync long ago, and has not
 * begun the frame: what is posted then runs in this very frame, and no other vsync is asked for because of it. Callbacks are in the order
 * of their times, so one that should have run long ago is the first of the ANIMATION stage, and one of now the last.
 *
 * <p>Into a vsync for which Choreographer does not wait nothing may be posted: that would ask for another one. Up to API 27 its field
 * says which it is. From API 28 on that is refused, and posted is into frames that go on with the one before (frames/asked.rs), and
 * where a window waits to be drawn, once a draw: a window that is not shown may wait for ever.
 */
final class FrameCallbacks {
    private final Choreographer choreographer;

    /** {@code Choreographer.mFrameScheduled}; null where it may not be read. */
    private final Field scheduled;

    /** ANIMATION begins. */
    private final Mark first = new Mark(FrameMonitor.ANIMATION);

    /** It is over. */
    private final Mark last = new Mark(FrameMonitor.TRAVERSAL);

    FrameCallbacks(Choreographer choreographer) {
        this.choreographer = choreographer;
        scheduled = Build.VERSION.SDK_INT < 28 ? field() : null;
    }

    private static Field field() {
        try {
            Field field = Choreographer.class.getDeclaredField("mFrameScheduled");
            field.setAccessible(true);
            return field;
        } catch (Throwable denied) {
            return null;
        }
    }

    /** A window waited to be drawn when a frame began, and none was drawn since. */
    private boolean waited;

    /**
     * A frame's message begins.
     *
     * @param goesOn whether it goes on with the one before
     */
    void frame(boolean goesOn, FrameMonitor windows) {
        if (!isScheduled(goesOn, windows)) {
            return;
        }
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

    /** On main, which alone sets the field to false. */
    private boolean isScheduled(boolean goesOn, FrameMonitor windows) {
        if (scheduled != null) {
            try {
                return scheduled.getBoolean(choreographer);
            } catch (Throwable denied) {
                // As without it.
            }
        }
        if (!goesOn && !waited) {
            waited = windows.isWaiting();
            return waited;
        }
        return goesOn;
    }

    /** A window is about to be drawn. */
    void drawn() {
        waited = false;
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
