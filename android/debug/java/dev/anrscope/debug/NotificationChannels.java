package dev.anrscope.debug;

import android.app.Notification;
import android.app.NotificationChannel;
import android.app.NotificationManager;
import android.content.Context;

/** What is newer than API 21. Each method is called only behind a check of {@code Build.VERSION.SDK_INT}. */
final class NotificationChannels {
    private static final String CHANNEL = "dev.anrscope.debug.stalls";

    private NotificationChannels() {}

    /** API 24. */
    static boolean isAllowed(NotificationManager manager) {
        return manager.areNotificationsEnabled();
    }

    /** API 26: a builder for the channel, which is created if it does not exist. */
    static Notification.Builder builder(Context context, NotificationManager manager) {
        NotificationChannel channel = new NotificationChannel(CHANNEL, "Stalls", NotificationManager.IMPORTANCE_DEFAULT);
        channel.setDescription("The main thread was blocked for a second or longer");
        manager.createNotificationChannel(channel);
        return new Notification.Builder(context, CHANNEL);
    }
}
