package dev.anrscope;

import android.app.Activity;
import android.os.SystemClock;
import android.view.InputEvent;
import android.view.View;
import android.view.Window;
import java.lang.ref.WeakReference;
import java.util.WeakHashMap;

/**
 * Reports when each input event happened, when the window got it, and changes of window focus; and makes each event a
 * unit of main's work ({@link Units}). An activity's window gets its callback once the activity is resumed, after the
 * app and its libraries have set theirs. Windows without an activity, such as dialogs, are searched for when a followed
 * window gains or loses the focus.
 */
final class TouchMonitor {
    /** Windows are followed; and their input is reported. */
    private static boolean on;

    private static boolean input;
    /** The process's windows cannot be listed: dialogs are not followed. */
    private static boolean unlisted;

    private static final WeakHashMap<Window, WeakReference<WindowCallback>> WRAPPED =
            new WeakHashMap<Window, WeakReference<WindowCallback>>();

    private TouchMonitor() {}

    /**
     * Sets what is reported about windows; takes effect at the next {@link #resumed}.
     *
     * @param touch their input, including dialogs
     * @param focus focus changes, which instrumented activities report by themselves
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
        if (now == null || (ours != null && (now == ours.installed || ours.isReached()))) {
            return;
        }
        WindowCallback callback = new WindowCallback(now, activity);
        WRAPPED.put(window, new WeakReference<WindowCallback>(callback));
        window.setCallback(callback.installed);
    }

    /**
     * A followed window gained or lost the focus: the new focus may be a dialog's window, which has no activity that
     * would be resumed. A window that takes no focus (a tooltip) is not found here.
     */
    static void check() {
        if (!input || unlisted) {
            return;
        }
        try {
            for (View root : RootViews.views()) {
                Window window = RootViews.window(root);
                if (window == null) {
                    FrameMonitor.shown(root);
                } else if (!WRAPPED.containsKey(window)) {
                    follow(window, null);
                    FrameMonitor.shown(window);
                }
            }
        } catch (Throwable denied) {
            // An event that nothing reports is still visible in main's outermost call or its stack.
            unlisted = true;
        }
    }

    static void destroyed(Activity activity) {
        Window window = activity.getWindow();
        if (window != null) {
            restore(window);
        }
    }

    /** Restores the previous callback. If another callback has wrapped it, it stays in place and only forwards. */
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
