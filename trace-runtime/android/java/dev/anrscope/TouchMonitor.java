package dev.anrscope;

import android.app.Activity;
import android.os.SystemClock;
import android.view.InputEvent;
import android.view.Window;
import java.lang.ref.WeakReference;
import java.util.WeakHashMap;

/**
 * Tells of each input event when it happened and when the window got it, and of the window's focus. The window's callback is wrapped once its activity is resumed, which
 * is after the app and its libraries have set theirs.
 */
final class TouchMonitor {
    /** Windows are followed; and their input is told. */
    private static boolean on;

    private static boolean input;
    private static final WeakHashMap<Activity, WeakReference<WindowCallback>> WRAPPED =
            new WeakHashMap<Activity, WeakReference<WindowCallback>>();

    private TouchMonitor() {}

    /**
     * What is wanted of windows; from the next {@link #resumed} on.
     *
     * @param touch their input
     * @param focus who has the focus, which instrumented activities tell by themselves
     */
    static void enable(boolean touch, boolean focus) {
        on = touch || focus;
        input = touch;
        if (!on) {
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
        if (input && event != null) {
            dispatched(event.getEventTime(), SystemClock.uptimeMillis());
        }
    }

    static void focus(Activity activity, boolean gained) {
        String name = activity.getClass().getName();
        long now = SystemClock.elapsedRealtimeNanos();
        if (on && focused(System.identityHashCode(activity), name, gained, now) && gained) {
            Observers.activityFocused(name);
        }
        if (on && gained) {
            EntryViews.focused(activity);
        }
    }

    private static native void dispatched(long eventMs, long nowMs);

    private static native boolean focused(int activity, String activityClass, boolean gained, long atNs);
}
