package dev.anrscope;

import android.os.Build;
import java.lang.reflect.Field;
import java.util.Collection;

/**
 * API 21 to 25: when an activity or service stops, main waits until all pending SharedPreferences are written. With the
 * option {@code shared_preferences_fix} main does not wait; what {@code apply()} has queued is still written.
 */
final class PreferencesFix {
    private static final int STOP_ACTIVITY_SHOW = 103;
    private static final int STOP_ACTIVITY_HIDE = 104;
    private static final int SERVICE_ARGS = 115;
    private static final int STOP_SERVICE = 116;
    private static final int SLEEPING = 137;

    private static Collection<?> waiting;
    private static boolean resolved;

    private PreferencesFix() {}

    /** Called before {@code ActivityThread.H} handles a message. */
    static void before(int what) {
        if (Build.VERSION.SDK_INT < 21 || Build.VERSION.SDK_INT > 25) {
            return;
        }
        switch (what) {
            case STOP_ACTIVITY_SHOW:
            case STOP_ACTIVITY_HIDE:
            case SERVICE_ARGS:
            case STOP_SERVICE:
            case SLEEPING:
                break;
            default:
                return;
        }
        if (Natives.number("shared_preferences_fix") == 0) {
            return;
        }
        if (!resolved) {
            resolved = true;
            try {
                Field field = Class.forName("android.app.QueuedWork").getDeclaredField("sPendingWorkFinishers");
                field.setAccessible(true);
                waiting = (Collection<?>) field.get(null);
            } catch (Throwable denied) {
                // Without access, main waits as usual.
            }
        }
        if (waiting != null) {
            waiting.clear();
        }
    }
}
