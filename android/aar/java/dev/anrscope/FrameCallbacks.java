package dev.anrscope;

import android.os.Build;
import android.os.SystemClock;
import android.view.Choreographer;
import java.lang.reflect.Field;

/**
 * Detects the stages of a frame with public callbacks. When the Looper announces a frame's message, Choreographer has
 * requested that vsync long ago and has not started the frame. A callback posted now runs in this very frame and
 * requests no further vsync. Callbacks run in the order of their times: one with a time long past is the first of the
 * ANIMATION stage, one with the current time the last.
 *
 * <p>Nothing may be posted for a vsync that Choreographer is not waiting for: that would request another one. Up to API
 * 27 a field of Choreographer has it. From API 28 on access to it is denied. Callbacks are then posted in frames that
 * continue the frame before (frames/asked.rs), and, while a window waits to be drawn, once per draw: a window that is
 * not shown may wait forever.
 */
final class FrameCallbacks {
    private final Choreographer choreographer;

    /** {@code Choreographer.mFrameScheduled}; null where access is denied. */
    private final Field scheduled;

    /** Runs at the start of ANIMATION. */
    private final Mark first = new Mark(FrameMonitor.ANIMATION);

    /** Runs at the end of ANIMATION. */
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

    /** A window was waiting to be drawn when a frame started, and none has been drawn since. */
    private boolean waited;

    /**
     * The message of a frame starts.
     *
     * @param goesOn whether it continues the frame before
     */
    void frame(boolean goesOn, FrameMonitor windows) {
        if (!isScheduled(goesOn, windows)) {
            return;
        }
        // A callback posted for a frame that Choreographer skipped is still pending.
        if (!first.waits) {
            first.waits = true;
            try {
                choreographer.postFrameCallbackDelayed(first, -SystemClock.uptimeMillis());
            } catch (RuntimeException refused) {
                // A system that rejects times in the past: the callback stays pending, and ANIMATION counts as INPUT.
            }
        }
        if (!last.waits) {
            last.waits = true;
            choreographer.postFrameCallback(last);
        }
    }

    /** Only main sets the field to false, and this runs on main. */
    private boolean isScheduled(boolean goesOn, FrameMonitor windows) {
        if (scheduled != null) {
            try {
                return scheduled.getBoolean(choreographer);
            } catch (Throwable denied) {
                // Continue without the field.
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
