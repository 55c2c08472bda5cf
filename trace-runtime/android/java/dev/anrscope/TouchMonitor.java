package dev.anrscope;

import android.app.Activity;
import android.os.SystemClock;
import android.view.InputEvent;
import android.view.Window;
import java.lang.ref.WeakReference;
import java.util.WeakHashMap;

/**
 * Tells of each input event when it happened and when the window got it. The window's callback is wrapped once its activity is resumed, which
 * is after the app and its libraries have set theirs.
 */
final class TouchMonitor {
    private static boolean on;
    private static final WeakHashMap<Activity, WeakReference<WindowCallback>> WRAPPED =
            new WeakHashMap<Activity, WeakReference<WindowCallback>>();

    private TouchMonitor() {}

    static void enable(boolean enabled) {
        on = enabled;
        if (!enabled) {
            for (Activity activity : WRAPPED.keySet().toArray(new Activity[0])) {
                destroyed(activity);
            }
        }
    }

    static void resumed(Activity activity) {
        Window window = activity.getWindow();
        if (!on || window == null) {
            return;
        }
        Window.Callback now = window.getCallback();
        WeakReference<WindowCallback> known = WRAPPED.get(activity);
        WindowCallback ours = known == null ? null : known.get();
        if (now == null || now == ours || (ours != null && ours.isAsked())) {
            return;
        }
        WindowCallback callback = new WindowCallback(now, activity);
        WRAPPED.put(activity, new WeakReference<WindowCallback>(callback));
        window.setCallback(callback);
    }

    /** Restores what was there; if somebody has wrapped ours meanwhile it stays, and only passes on. */
    static void destroyed(Activity activity) {
        WeakReference<WindowCallback> known = WRAPPED.remove(activity);
        WindowCallback ours = known == null ? null : known.get();
        Window window = activity.getWindow();
        if (ours != null && window != null && window.getCallback() == ours) {
            window.setCallback(ours.wrapped);
        }
    }

    static void dispatched(InputEvent event) {
        if (on && event != null) {
            dispatched(event.getEventTime(), SystemClock.uptimeMillis());
        }
    }

    static void focus(Activity activity, boolean gained) {
        focused(
                System.identityHashCode(activity),
                activity.getClass().getName(),
                gained,
                SystemClock.elapsedRealtimeNanos());
    }

    private static native void dispatched(long eventMs, long nowMs);

    private static native void focused(int activity, String activityClass, boolean gained, long atNs);
}
