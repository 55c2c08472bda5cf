package dev.anrscope;

import android.content.Context;
import android.os.Build;
import java.io.File;
import java.lang.reflect.Method;

/** Directories for recordings and markers. */
final class Directories {
    private Directories() {}

    /**
     * Path of the directory with the crash-loop guard's marker. Computed without file access, so also usable on main.
     */
    static String marks(Context context) {
        String at = Build.VERSION.SDK_INT >= 21 ? "/no_backup/anrscope" : "/files/anrscope";
        return context.getApplicationInfo().dataDir + at;
    }

    /**
     * The directory that the system does not back up (API 21), or the app's files directory. Creates directories: not
     * on main.
     */
    static File of(Context context) {
        if (Build.VERSION.SDK_INT >= 21) {
            try {
                Method noBackup = Context.class.getMethod("getNoBackupFilesDir");
                return (File) noBackup.invoke(context);
            } catch (Exception older) {
                // Fall back to the app's files directory.
            }
        }
        return context.getFilesDir();
    }
}
