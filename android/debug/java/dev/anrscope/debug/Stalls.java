package dev.anrscope.debug;

import android.content.Context;
import android.content.pm.ApplicationInfo;
import android.content.pm.PackageManager;
import android.os.Bundle;
import android.util.Log;
import dev.anrscope.Anrscope;

/** Starts the watch for stalls of main, in a debuggable build. */
final class Stalls {
    static final String TAG = "anrscope";

    /** Manifest keys. They do not begin with {@code anrscope.}, which are the recorder's options. */
    private static final String NOTIFY = "anrscope-debug.notify";

    private static final String STALL_MS = "anrscope-debug.stall_ms";
    private static final long DEFAULT_STALL_MS = 1_000;

    private Stalls() {}

    /** On main, at the start of the process: reads no file and calls no service. */
    static void start(Context context) {
        try {
            if (!isDebuggable(context)) {
                Log.w(
                        TAG,
                        "anrscope-debug does nothing: this build is not debuggable. Use debugImplementation, so that it stays out of"
                                + " release builds");
                return;
            }
            Context application = context.getApplicationContext();
            Anrscope.addObserver(new StallObserver(application == null ? context : application));
        } catch (Throwable unwatched) {
            // A failure of the library must never break the app.
        }
    }

    static boolean isDebuggable(Context context) {
        return (context.getApplicationInfo().flags & ApplicationInfo.FLAG_DEBUGGABLE) != 0;
    }

    /** The least duration to report, ms; -1 if the manifest switches the library off. Calls the package manager. */
    static long leastMs(Context context) {
        try {
            Bundle metaData =
                    context.getPackageManager()
                            .getApplicationInfo(context.getPackageName(), PackageManager.GET_META_DATA)
                            .metaData;
            if (metaData == null) {
                return DEFAULT_STALL_MS;
            }
            Object notify = metaData.get(NOTIFY);
            if (notify != null && (notify.equals(Boolean.FALSE) || notify.toString().equals("0"))) {
                return -1;
            }
            Object least = metaData.get(STALL_MS);
            return least == null ? DEFAULT_STALL_MS : Math.max(1, Long.parseLong(least.toString()));
        } catch (Exception unreadable) {
            return DEFAULT_STALL_MS;
        }
    }
}
