package dev.anrscope;

import android.content.Context;
import android.content.pm.ApplicationInfo;
import android.content.pm.PackageManager;
import android.os.Binder;
import android.os.Process;

/**
 * Checks who may read recordings and send commands from outside the app. The manifest admits holders of DUMP, which
 * ordinary apps cannot get, or of this app's signature-level permission; this class checks the calling uid as well.
 */
final class Access {
    /** App id of the shell (AOSP {@code Process.SHELL_UID}, public from API 29 on). */
    private static final int SHELL_APP_ID = 2000;

    /** Number of uids per user (AOSP {@code UserHandle.PER_USER_RANGE}). */
    private static final int UIDS_PER_USER = 100_000;

    private Access() {}

    /**
     * The signature-level permission that the library's manifest declares. Its name contains the package, because two
     * apps cannot declare the same permission.
     */
    static String permission(Context context) {
        return context.getPackageName() + ".anrscope.CONTROL";
    }

    /** Whether this build is debuggable. */
    static boolean isDebuggable(Context context) {
        return (context.getApplicationInfo().flags & ApplicationInfo.FLAG_DEBUGGABLE) != 0;
    }

    /**
     * Checks the caller of the current Binder call. It must be this app, hold {@link #permission}, or be the shell in a
     * debuggable build.
     *
     * @throws SecurityException if it is not one of these
     */
    static void check(Context context) {
        int uid = Binder.getCallingUid();
        if (uid == Process.myUid()
                || context.checkCallingPermission(permission(context)) == PackageManager.PERMISSION_GRANTED
                || uid % UIDS_PER_USER == SHELL_APP_ID && isDebuggable(context)) {
            return;
        }
        throw new SecurityException(
                "uid " + uid + " may not access the recordings of " + context.getPackageName() + ": it needs "
                        + permission(context) + ", or a debuggable build and adb's shell");
    }
}
