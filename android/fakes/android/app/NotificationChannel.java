package android.app;

import android.os.Build;

/** API 26 (core/java/android/app/NotificationChannel.java). */
public final class NotificationChannel {
    final String id;

    public NotificationChannel(String id, CharSequence name, int importance) {
        if (Build.VERSION.SDK_INT < 26) {
            throw new NoClassDefFoundError("android/app/NotificationChannel");
        }
        this.id = id;
    }

    public void setDescription(String description) {}
}
