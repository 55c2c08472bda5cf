package android.app;

import android.content.Context;
import android.content.Intent;
import android.os.Build;
import host.HostApp;

/** An intent that another process may send (core/java/android/app/PendingIntent.java, API 21 to 35). */
public final class PendingIntent {
    public static final int FLAG_UPDATE_CURRENT = 1 << 27;
    /** API 23. */
    public static final int FLAG_IMMUTABLE = 1 << 26;
    /** API 31. */
    public static final int FLAG_MUTABLE = 1 << 25;

    private final Intent intent;

    private PendingIntent(Intent intent) {
        this.intent = intent;
    }

    public static PendingIntent getActivity(Context context, int code, Intent intent, int flags) {
        // checkPendingIntent, for apps that target 31.
        if (Build.VERSION.SDK_INT >= 31 && (flags & (FLAG_IMMUTABLE | FLAG_MUTABLE)) == 0) {
            throw new IllegalArgumentException(
                    context.getPackageName() + ": Targeting S+ (version 31 and above) requires that one of FLAG_IMMUTABLE or"
                            + " FLAG_MUTABLE be specified when creating a PendingIntent.");
        }
        if (Build.VERSION.SDK_INT < 23 && (flags & FLAG_IMMUTABLE) != 0) {
            throw new IllegalArgumentException("unknown flags");
        }
        return new PendingIntent(intent);
    }

    /** The user taps. */
    public void send() {
        HostApp.STARTED.add(intent);
    }
}
