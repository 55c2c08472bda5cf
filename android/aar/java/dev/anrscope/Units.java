package dev.anrscope;

import android.view.KeyEvent;
import android.view.MotionEvent;

/**
 * Units of main's work that no message announces: input events, which Android's native Looper dispatches from inside
 * {@code MessageQueue.nativePollOnce}, and idle handlers. Each starts and ends like a message, unless main is already
 * in a message or another unit (a batched MOVE is part of its frame's message). All on main.
 *
 * <p>The names are a fixed set of actions, never a key code, a position or a text.
 */
final class Units {
    /**
     * Class that dispatches input (AOSP InputEventReceiver.java, API 21 to 34: dispatchInputEvent is "called from
     * native code").
     */
    private static final String INPUT = "android.view.InputEventReceiver";

    private static final String IDLE = "android.os.MessageQueue$IdleHandler";

    /** AOSP MotionEvent.java, API 34: actionToString. */
    private static final String[] MOTIONS = {
        "ACTION_DOWN", "ACTION_UP", "ACTION_MOVE", "ACTION_CANCEL", "ACTION_OUTSIDE", "ACTION_POINTER_DOWN",
        "ACTION_POINTER_UP", "ACTION_HOVER_MOVE", "ACTION_SCROLL", "ACTION_HOVER_ENTER", "ACTION_HOVER_EXIT",
        "ACTION_BUTTON_PRESS", "ACTION_BUTTON_RELEASE"
    };

    /** AOSP KeyEvent.java, API 34: actionToString. */
    private static final String[] KEYS = {"ACTION_DOWN", "ACTION_UP", "ACTION_MULTIPLE"};

    /** The pointer index is above these bits (AOSP MotionEvent.java: ACTION_MASK). */
    private static final int ACTION_MASK = 0xff;

    private static final int[] MOTION_IDS = new int[MOTIONS.length + 1];
    private static final int[] KEY_IDS = new int[KEYS.length + 1];
    private static int input;
    private static int idle;
    /** Something here failed: units are no longer reported. */
    private static boolean off;

    private Units() {}

    /** A window is about to get the event. Returns whether {@link #end} must follow, in a {@code finally}. */
    static boolean begin(MotionEvent event) {
        if (off || event == null) {
            return false;
        }
        try {
            int action = event.getAction() & ACTION_MASK;
            return input(MOTION_IDS, "MotionEvent", MOTIONS, action);
        } catch (Throwable fault) {
            return off(fault);
        }
    }

    /** As {@link #begin} of a key event. */
    static boolean begin(KeyEvent event) {
        if (off || event == null) {
            return false;
        }
        try {
            return input(KEY_IDS, "KeyEvent", KEYS, event.getAction());
        } catch (Throwable fault) {
            return off(fault);
        }
    }

    private static boolean input(int[] ids, String type, String[] actions, int action) {
        int at = action >= 0 && action < actions.length ? action : actions.length;
        if (ids[at] == 0) {
            ids[at] = text(at < actions.length ? type + " " + actions[at] : type);
        }
        if (input == 0) {
            input = text(INPUT);
        }
        return unit(input, ids[at]);
    }

    /** An idle handler is about to run; {@code name} is as {@link IdleMonitor} knows it. */
    static boolean beginIdle(int name) {
        if (off) {
            return false;
        }
        try {
            if (idle == 0) {
                idle = text(IDLE);
            }
            return unit(idle, name);
        } catch (Throwable fault) {
            return off(fault);
        }
    }

    private static boolean off(Throwable fault) {
        off = true;
        Monitors.report("input and idle handlers", fault);
        return false;
    }

    /** The unit ends, also if an exception passes through it. */
    static void end() {
        unit(0, 0);
    }

    private static native int text(String name);

    /** Starts a unit and returns whether it did; 0 and 0 end it. */
    private static native boolean unit(int target, int callback);
}
