package android.app;

/** The methods in use, including those added in API 24 and 26. Signatures only. */
public class NotificationManager {
    /** API 24. */
    public static final int IMPORTANCE_DEFAULT = 3;

    public void notify(String tag, int id, Notification notification) {}

    /** API 24. */
    public boolean areNotificationsEnabled() {
        return false;
    }

    /** API 26. */
    public void createNotificationChannel(NotificationChannel channel) {}
}
