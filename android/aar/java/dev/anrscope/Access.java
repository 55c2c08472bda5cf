package dev.anrscope;

import android.content.Context;
import android.content.pm.ApplicationInfo;
import android.content.pm.PackageManager;
import android.os.Binder;
import android.os.Process;

/**
 * Who may read recordings and give commands from outside of the app. The manifest lets in whoever holds DUMP, which no ordinary
 * app gets, or this app's permission of signature level; here the caller itself is looked at.
 */
final class Access {
    /** The shell's app id (AOSP {@code Process.SHELL_UID}, public from API 29 on). */
    private static final int SHELL = 2000;

    /** What a user's uids are apart (AOSP {@code UserHandle.PER_USER_RANGE}). */
    private static final int PER_USER = 100_000;

    private Access() {}

    /** The permission of signature level that the library's manifest declares. A name of the app's own: two apps cannot declare the same. */
    static String permission(Context context) {
        return context.getPackageName() + ".anrscope.CONTROL";
    }

    /** Whether this build may be debugged. */
    static boolean isDebuggable(Context context) {
        return (context.getApplicationInfo().flags & ApplicationInfo.FLAG_DEBUGGABLE) != 0;
    }

    /**
     * In a call from another process: whether it is this app, or holds {@link #permission}; or is the shell, and this build may be debugged.
     *
     * @throws SecurityException if it is none of them
     */
    static void check(Context context) {
        int uid = Binder.getCallingUid();
        if (uid == Process.myUid()
                || context.checkCallingPermission(permission(context)) == PackageManager.PERMISSION_GRANTED
                || uid % PER_USER == SHELL && isDebuggable(context)) {
            return;
        }
        throw new SecurityException(
                "uid " + uid + " may not look at recordings of " + context.getPackageName() + ": it needs "
                        + permission(context) + ", or a debuggable build and adb's shell");
    }
}
