package dev.anrscope;

import android.app.Activity;
import android.os.Build;
import android.os.Handler;
import android.os.Message;
import android.os.SystemClock;
import android.view.View;
import android.view.ViewTreeObserver;
import java.lang.reflect.Field;
import java.util.Collections;
import java.util.List;

/**
 * Observes the messages with which the system creates activities, services and receivers, through the callback of
 * {@code ActivityThread.mH}, and the first draw of each activity. Where the callback cannot be accessed, the library
 * takes the first activity's create as the end of the application's start; nothing else is lost.
 *
 * <p>From API 28 on a launch is a transaction. Its contents are readable up to API 34. From API 35 on access to the
 * list that is filled is denied, so a transaction in which an activity is created counts as its launch.
 */
final class StartMonitor implements Handler.Callback {
    private static final int LAUNCH_ACTIVITY = 100;
    private static final int RECEIVER = 113;
    private static final int CREATE_SERVICE = 114;
    private static final int RELAUNCH_OLD = 126;
    private static final int TRANSACTION = 159;
    private static final int RELAUNCH = 160;

    private static StartMonitor only;

    /** When main's current transaction began, if it cannot be read; else 0. */
    private static long unread;

    /** Activities whose first draw has been requested; a bounded set, because identity hashes are small. */
    private static final java.util.WeakHashMap<Activity, Boolean> DRAWN =
            new java.util.WeakHashMap<Activity, Boolean>();

    private final Handler handler;
    private final Field field;
    private final Handler.Callback before;
    private volatile boolean on = true;

    private StartMonitor(Handler handler, Field field, Handler.Callback before) {
        this.handler = handler;
        this.field = field;
        this.before = before;
    }

    /** Whether the messages are observed. */
    static boolean start() {
        if (only != null) {
            only.on = true;
            return true;
        }
        try {
            Class<?> type = Class.forName("android.app.ActivityThread");
            Object thread = type.getMethod("currentActivityThread").invoke(null);
            Field mH = type.getDeclaredField("mH");
            mH.setAccessible(true);
            Handler handler = (Handler) mH.get(thread);
            Field callback = Handler.class.getDeclaredField("mCallback");
            callback.setAccessible(true);
            StartMonitor monitor =
                    new StartMonitor(handler, callback, (Handler.Callback) callback.get(handler));
            callback.set(handler, monitor);
            only = monitor;
            return true;
        } catch (Throwable denied) {
            return false;
        }
    }

    /** Restores the previous callback. If another callback has wrapped it, it stays in place and only forwards. */
    static void stop() {
        StartMonitor monitor = only;
        if (monitor == null) {
            return;
        }
        monitor.on = false;
        try {
            if (monitor.field.get(monitor.handler) == monitor) {
                monitor.field.set(monitor.handler, monitor.before);
                only = null;
            }
        } catch (Throwable denied) {
            // It stays and only forwards.
        }
    }

    @Override
    public boolean handleMessage(Message message) {
        if (on) {
            try {
                see(message);
                LooperMonitor.check();
            } catch (Throwable fault) {
                on = false;
            }
        }
        return before != null && before.handleMessage(message);
    }

    private static void see(Message message) {
        int what = message.what;
        unread = 0;
        Components.begin(message);
        switch (what) {
            case TRANSACTION:
                List<?> items = Transactions.items(message.obj);
                if (items == null) {
                    unread = SystemClock.elapsedRealtimeNanos();
                    break;
                }
                if (!Transactions.launches(items)) {
                    break;
                }
                // Fall through.
            case LAUNCH_ACTIVITY:
            case RELAUNCH_OLD:
            case RELAUNCH:
            case RECEIVER:
            case CREATE_SERVICE:
                if (message(what, SystemClock.elapsedRealtimeNanos())) {
                    Observers.applicationCreated();
                }
                break;
            default:
                PreferencesFix.before(what);
        }
    }

    /** An activity is about to be created: if this happens in an unreadable transaction, that is its launch. */
    static void creating() {
        long at = unread;
        if (at != 0) {
            unread = 0;
            if (message(TRANSACTION, at)) {
                Observers.applicationCreated();
            }
        }
    }

    /** The activity is about to be shown: observe its first draw. This must not create its window's view. */
    static void resumed(Activity activity) {
        if (DRAWN.put(activity, Boolean.TRUE) != null) {
            return;
        }
        View decor = activity.getWindow() == null ? null : activity.getWindow().peekDecorView();
        if (decor != null) {
            new FirstDraw(System.identityHashCode(activity), decor);
        }
    }

    private static final class FirstDraw implements ViewTreeObserver.OnPreDrawListener {
        private final int activity;
        private final View decor;

        FirstDraw(int activity, View decor) {
            this.activity = activity;
            this.decor = decor;
            decor.getViewTreeObserver().addOnPreDrawListener(this);
        }

        @Override
        public boolean onPreDraw() {
            drawn(activity, SystemClock.elapsedRealtimeNanos());
            // Not the same observer as at the start: it is the window's, once the view is in it.
            decor.getViewTreeObserver().removeOnPreDrawListener(this);
            return true;
        }
    }

    /**
     * The contents of a transaction: {@code ClientTransaction.mActivityCallbacks}, API 28 to 34. From 35 on that list
     * may be empty, and {@code mTransactionItems}, which is filled, is on the blocklist (AOSP ClientTransaction.java,
     * Android 15): each access to it would be an exception, a line in the log and a StrictMode violation on main.
     */
    static final class Transactions {
        private static final int LAST_READABLE_API = 34;

        /** Null before the first lookup, and where access was denied; it is looked up once. */
        private static Field callbacks;

        private static boolean resolved;

        private Transactions() {}

        /** Null if it cannot be read. */
        static List<?> items(Object transaction) {
            if (!resolved) {
                resolved = true;
                callbacks = Build.VERSION.SDK_INT <= LAST_READABLE_API ? field(transaction) : null;
            }
            if (callbacks == null || transaction == null) {
                return null;
            }
            try {
                List<?> items = (List<?>) callbacks.get(transaction);
                return items == null ? Collections.emptyList() : items;
            } catch (Throwable other) {
                callbacks = null;
                return null;
            }
        }

        private static Field field(Object transaction) {
            try {
                Field field = transaction.getClass().getDeclaredField("mActivityCallbacks");
                field.setAccessible(true);
                return field;
            } catch (Throwable denied) {
                return null;
            }
        }

        static boolean launches(List<?> items) {
            for (int i = 0; i < items.size(); i++) {
                if (items.get(i).getClass().getName().endsWith(".LaunchActivityItem")) {
                    return true;
                }
            }
            return false;
        }
    }

    /** Whether the application is created with this message. */
    private static native boolean message(int what, long atNs);

    private static native void drawn(int activity, long atNs);
}
