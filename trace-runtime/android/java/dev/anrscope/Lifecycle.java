package dev.anrscope;

import android.app.Activity;
import android.app.Application;
import android.os.Build;
import android.os.Bundle;
import android.os.SystemClock;

/** Tells of each step in an activity's life. What follows from it (foreground, scene, starts) is decided in the library. */
final class Lifecycle implements Application.ActivityLifecycleCallbacks {
    private static final int CREATED = 0;
    private static final int STARTED = 1;
    private static final int RESUMED = 2;
    private static final int PAUSED = 3;
    private static final int STOPPED = 4;
    private static final int DESTROYED = 5;

    private static Lifecycle only;

    private Lifecycle() {}

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

    private static void tell(int step, Activity activity) {
        step(step, System.identityHashCode(activity), activity.getClass().getName(), SystemClock.elapsedRealtimeNanos());
    }

    /** API 29: before the activity's own {@code onCreate}. */
    public void onActivityPreCreated(Activity activity, Bundle state) {
        tell(CREATED, activity);
    }

    @Override
    public void onActivityCreated(Activity activity, Bundle state) {
        if (Build.VERSION.SDK_INT < 29) {
            tell(CREATED, activity);
        }
    }

    @Override
    public void onActivityStarted(Activity activity) {
        tell(STARTED, activity);
    }

    @Override
    public void onActivityResumed(Activity activity) {
        tell(RESUMED, activity);
        StartMonitor.resumed(activity);
        TouchMonitor.resumed(activity);
        FrameMonitor.resumed(activity.getWindow());
        LooperMonitor.look();
    }

    @Override
    public void onActivityPaused(Activity activity) {
        tell(PAUSED, activity);
        FrameMonitor.paused();
    }

    @Override
    public void onActivityStopped(Activity activity) {
        tell(STOPPED, activity);
    }

    @Override
    public void onActivitySaveInstanceState(Activity activity, Bundle state) {}

    @Override
    public void onActivityDestroyed(Activity activity) {
        tell(DESTROYED, activity);
        TouchMonitor.destroyed(activity);
        FrameMonitor.destroyed(activity.getWindow());
    }

    private static native void step(int step, int activity, String activityClass, long atNs);
}
