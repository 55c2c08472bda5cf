package android.app;

import android.os.Build;
import android.os.Looper;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The system's notifications of this app. As AOSP's services/core/java/com/android/server/notification/
 * NotificationManagerService.java (API 21 to 35): one of the same tag and id replaces the one before; without an icon it is
 * refused; from API 26 on one without a channel is dropped, and one that the user does not allow at every level.
 */
public class NotificationManager {
    public static final int IMPORTANCE_DEFAULT = 3;

    /** Whether the user allows this app's notifications; at API 33 not before the app has the permission. */
    public volatile boolean hostAllowed = true;

    /** Calls on main, where a call into the system is costly. */
    public volatile int hostCallsOnMain;

    private final Set<String> channels = new HashSet<String>();
    private final Map<String, Notification> shown = new LinkedHashMap<String, Notification>();
    private final List<Notification> posted = new ArrayList<Notification>();

    private void called() {
        if (Looper.myLooper() != null && Looper.myLooper() == Looper.getMainLooper()) {
            hostCallsOnMain++;
        }
    }

    public synchronized void notify(String tag, int id, Notification notification) {
        called();
        if (notification.hostIcon == 0) {
            throw new IllegalArgumentException("Invalid notification (no valid small icon): " + notification);
        }
        boolean channel = Build.VERSION.SDK_INT < 26 || channels.contains(notification.hostChannel);
        if (channel && hostAllowed) {
            shown.put(tag + " " + id, notification);
            posted.add(notification);
        }
    }

    /** API 24. */
    public boolean areNotificationsEnabled() {
        if (Build.VERSION.SDK_INT < 24) {
            throw new NoSuchMethodError("areNotificationsEnabled");
        }
        called();
        return hostAllowed;
    }

    /** API 26. */
    public synchronized void createNotificationChannel(NotificationChannel channel) {
        called();
        channels.add(channel.id);
    }

    /** What the user sees now. */
    public synchronized List<Notification> hostShown() {
        return new ArrayList<Notification>(shown.values());
    }

    /** All that were posted, replaced ones as well. */
    public synchronized List<Notification> hostPosted() {
        return new ArrayList<Notification>(posted);
    }
}
