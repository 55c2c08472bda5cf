package dev.anrscope.debug;

import android.app.Notification;
import android.app.NotificationManager;
import android.app.PendingIntent;
import android.content.Context;
import android.content.Intent;
import android.os.Build;
import android.util.Log;
import dev.anrscope.export.Stall;

/** The one notification, which each stall replaces. It needs no permission below API 33, and asks for none. */
final class StallNotification {
    private static final String TAG = "anrscope-debug";
    private static final int ID = 1;
    private static final String GROUP = "dev.anrscope.debug.stalls";

    /** {@code PendingIntent.FLAG_IMMUTABLE}, API 23; required from 31 on. */
    private static final int FLAG_IMMUTABLE = 1 << 26;

    private StallNotification() {}

    /** Shows the stall; if notifications are not allowed, it is logged instead. Calls the system: not on main. */
    static void show(Context context, Stall stall, int count) {
        NotificationManager manager = (NotificationManager) context.getSystemService(Context.NOTIFICATION_SERVICE);
        if (!isAllowed(manager)) {
            Log.w(Stalls.TAG, stall + ". Notifications are off for this app: the launcher entry Stalls shows the answer");
            return;
        }
        Notification.Builder builder =
                Build.VERSION.SDK_INT >= 26 ? NotificationChannels.builder(context, manager) : new Notification.Builder(context);
        builder.setSmallIcon(android.R.drawable.ic_dialog_alert)
                .setContentTitle(stall.blocked())
                .setContentText(stall.reason())
                .setStyle(new Notification.BigTextStyle().bigText(stall.reason()))
                .setTicker(stall.toString())
                .setWhen(stall.sinceMs())
                .setShowWhen(true)
                .setContentIntent(open(context, stall))
                .setGroup(GROUP)
                .setOnlyAlertOnce(true)
                .setLocalOnly(true)
                .setAutoCancel(true);
        if (count > 1) {
            builder.setSubText(count + " stalls in this process").setNumber(count);
        }
        manager.notify(TAG, ID, builder.build());
    }

    /** Whether the app may post notifications. */
    static boolean isAllowed(NotificationManager manager) {
        return manager != null && (Build.VERSION.SDK_INT < 24 || NotificationChannels.isAllowed(manager));
    }

    private static PendingIntent open(Context context, Stall stall) {
        Intent intent = StallsActivity.of(context, stall);
        int flags = PendingIntent.FLAG_UPDATE_CURRENT | (Build.VERSION.SDK_INT >= 23 ? FLAG_IMMUTABLE : 0);
        return PendingIntent.getActivity(context, 0, intent, flags);
    }
}
