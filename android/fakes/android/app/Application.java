package android.app;

import android.content.Context;
import android.os.Bundle;
import host.HostApp;
import java.util.ArrayList;

public class Application extends Context {
    private final ArrayList<ActivityLifecycleCallbacks> callbacks = new ArrayList<ActivityLifecycleCallbacks>();

    public interface ActivityLifecycleCallbacks {
        /** API 29, and called only there. */
        default void onActivityPreCreated(Activity activity, Bundle state) {}

        void onActivityCreated(Activity activity, Bundle state);

        void onActivityStarted(Activity activity);

        void onActivityResumed(Activity activity);

        void onActivityPaused(Activity activity);

        void onActivityStopped(Activity activity);

        void onActivitySaveInstanceState(Activity activity, Bundle state);

        void onActivityDestroyed(Activity activity);
    }

    public void onCreate() {}

    /** API 28 (AOSP {@code Application.java}). */
    public static String getProcessName() {
        return android.os.Process.myProcessName();
    }

    @Override
    public Context getApplicationContext() {
        return this;
    }

    @Override
    public Object getSystemService(String name) {
        return HostApp.SERVICES.get(name);
    }

    public void registerActivityLifecycleCallbacks(ActivityLifecycleCallbacks callback) {
        synchronized (callbacks) {
            callbacks.add(callback);
        }
    }

    public void unregisterActivityLifecycleCallbacks(ActivityLifecycleCallbacks callback) {
        synchronized (callbacks) {
            callbacks.remove(callback);
        }
    }

    public int hostCallbacks() {
        return callbacks.size();
    }

    ActivityLifecycleCallbacks[] all() {
        synchronized (callbacks) {
            return callbacks.toArray(new ActivityLifecycleCallbacks[0]);
        }
    }
}
