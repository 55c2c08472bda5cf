package android.app;

import android.content.Intent;

/** A service (core/java/android/app/Service.java, all levels). */
public abstract class Service {
    public static final int START_NOT_STICKY = 2;

    public void onCreate() {}

    public int onStartCommand(Intent intent, int flags, int startId) {
        return START_NOT_STICKY;
    }

    /** Returns a Binder on Android. */
    public abstract Object onBind(Intent intent);

    public boolean onUnbind(Intent intent) {
        return false;
    }

    public void onDestroy() {}
}
