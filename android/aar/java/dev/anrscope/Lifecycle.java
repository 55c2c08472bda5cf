package dev.anrscope;

import android.app.Activity;
import android.app.Application;
import android.os.Build;
import android.os.Bundle;
import android.os.SystemClock;

/**
 * Reports each step of an activity's lifecycle. The library derives everything else from it (foreground state, scene,
 * starts).
 */
final class Lifecycle implements Application.ActivityLifecycleCallbacks {
    private static final int CREATED = 0;
    private static final int STARTED = 1;
    private static final int RESUMED = 2;
    private static final int PAUSED = 3;
    private static final int STOPPED = 4;
    private static final int DESTROYED = 5;

    private static Lifecycle only;

    /** An activity has been created since this monitor started. */
    private static boolean activity;

    private Lifecycle() {}

    /** Whether an activity exists or existed. */
    static boolean hasActivity() {
        return activity;
    }

    static void start(Application application) {
        if (only == null) {
            only = new Lifecycle();
            application.registerActivityLifecycleCallbacks(only);
        }
    }

    static void stop(Application application) {
        if (only != null) {
            application.unregisterActivityLifecycleCallbacks(only);
            only = null;
        }
    }

    private static boolean report(int step, Activity activity) {
        return step(step, System.identityHashCode(activity), activity.getClass().getName(), SystemClock.elapsedRealtimeNanos());
    }

    private static void creating(Activity created) {
        activity = true;
        try {
            StartMonitor.creating();
        } catch (Throwable fault) {
            Monitors.fault(Monitors.STARTS, fault);
        }
        if (report(CREATED, created)) {
            Observers.applicationCreated();
        }
        try {
            FrameMonitor.created();
        } catch (Throwable fault) {
            Monitors.fault(Monitors.FRAMES, fault);
        }
    }

    /** API 29: runs before the activity's own {@code onCreate}. */
    public void onActivityPreCreated(Activity activity, Bundle state) {
        creating(activity);
    }

    @Override
    public void onActivityCreated(Activity activity, Bundle state) {
        if (Build.VERSION.SDK_INT < 29) {
            creating(activity);
        }
    }

    @Override
    public void onActivityStarted(Activity activity) {
        report(STARTED, activity);
    }

    @Override
    public void onActivityResumed(Activity activity) {
        report(RESUMED, activity);
        try {
            StartMonitor.resumed(activity);
        } catch (Throwable fault) {
            Monitors.fault(Monitors.STARTS, fault);
        }
        try {
            TouchMonitor.resumed(activity);
        } catch (Throwable fault) {
            Monitors.fault(Monitors.TOUCH, fault);
        }
        try {
            FrameMonitor.resumed(activity.getWindow());
        } catch (Throwable fault) {
            Monitors.fault(Monitors.FRAMES, fault);
        }
        try {
            LooperMonitor.check();
        } catch (Throwable fault) {
            Monitors.fault(Monitors.LOOPER, fault);
        }
    }

    @Override
    public void onActivityPaused(Activity activity) {
        report(PAUSED, activity);
        try {
            FrameMonitor.paused();
        } catch (Throwable fault) {
            Monitors.fault(Monitors.FRAMES, fault);
        }
    }

    @Override
    public void onActivityStopped(Activity activity) {
        report(STOPPED, activity);
    }

    @Override
    public void onActivitySaveInstanceState(Activity activity, Bundle state) {}

    @Override
    public void onActivityDestroyed(Activity activity) {
        report(DESTROYED, activity);
        try {
            TouchMonitor.destroyed(activity);
        } catch (Throwable fault) {
            Monitors.fault(Monitors.TOUCH, fault);
        }
        try {
            FrameMonitor.destroyed(activity.getWindow());
        } catch (Throwable fault) {
            Monitors.fault(Monitors.FRAMES, fault);
        }
    }

    /** Whether the application is created with this activity: nothing before has reported it. */
    private static native boolean step(int step, int activity, String activityClass, long atNs);
}
