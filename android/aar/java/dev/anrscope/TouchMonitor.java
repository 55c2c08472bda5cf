package dev.anrscope;

import android.app.Activity;
import android.os.SystemClock;
import android.view.InputEvent;
import android.view.View;
import android.view.Window;
import java.lang.ref.WeakReference;
import java.util.WeakHashMap;

/**
 * Reports of each input event when it happened and when the window got it, and of the window's focus; and makes each a unit of main's work
 * ({@link Units}). An activity's window gets its callback once the activity is resumed, which is after the app and its libraries have set theirs.
 * Windows without an activity, those of dialogs, are looked for when a followed window gains or loses the focus.
 */
final class TouchMonitor {
    /** Windows are followed; and their input is told. */
    private static boolean on;

    private static boolean input;
    /** The process's windows cannot be listed: dialogs' are not followed. */
    private static boolean unlisted;

    private static final WeakHashMap<Window, WeakReference<WindowCallback>> WRAPPED =
            new WeakHashMap<Window, WeakReference<WindowCallback>>();

    private TouchMonitor() {}

    /**
     * What is wanted of windows; from the next {@link #resumed} on.
     *
     * @param touch their input, that of dialogs' windows too
     * @param focus who has the focus, which instrumented activities tell by themselves
     */
    static void enable(boolean touch, boolean focus) {
        on = touch || focus;
        input = touch;
        if (!on) {
            for (Window window : WRAPPED.keySet().toArray(new Window[0])) {
                restore(window);
            }
        }
    }

    static void resumed(Activity activity) {
        Window window = activity.getWindow();
        if (on && window != null) {
            follow(window, activity);
        }
    }

    private static void follow(Window window, Activity activity) {
        Window.Callback now = window.getCallback();
        WeakReference<WindowCallback> known = WRAPPED.get(window);
        WindowCallback ours = known == null ? null : known.get();
        if (ours != null && activity != null) {
            ours.belongsTo(activity);
        }
        if (now == null || (ours != null && (now == ours.installed || ours.isAsked()))) {
            return;
        }
        WindowCallback callback = new WindowCallback(now, activity);
        WRAPPED.put(window, new WeakReference<WindowCallback>(callback));
        window.setCallback(callback.installed);
    }

    /**
     * A window that is followed gained or lost the focus: what took it may be a dialog, whose window has no activity that would be resumed.
     * A window that takes no focus (a popup) is not found here.
     */
    static void look() {
        if (!input || unlisted) {
            return;
        }
        try {
            for (View root : Roots.views()) {
                Window window = Roots.window(root);
                if (window != null && !WRAPPED.containsKey(window)) {
                    follow(window, null);
                    FrameMonitor.shown(window);
                }
            }
        } catch (Throwable denied) {
            // What nothing reports is found by main's outermost call, or by its stack.
            unlisted = true;
        }
    }

    static void destroyed(Activity activity) {
        Window window = activity.getWindow();
        if (window != null) {
            restore(window);
        }
    }

    /** Restores what was there; if it was wrapped meanwhile it stays, and only passes on. */
    private static void restore(Window window) {
        WeakReference<WindowCallback> known = WRAPPED.remove(window);
        WindowCallback ours = known == null ? null : known.get();
        if (ours != null && window.getCallback() == ours.installed) {
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
