package dev.anrscope;

import android.content.Context;
import android.os.Build;
import java.io.File;
import java.lang.reflect.Method;

/** Where recordings go. */
final class Folders {
    private Folders() {}

    /** Where the mark of a disarmed app is: told without a look at any file, so on main too. */
    static String marks(Context context) {
        String at = Build.VERSION.SDK_INT >= 21 ? "/no_backup/anrscope" : "/files/anrscope";
        return context.getApplicationInfo().dataDir + at;
    }

    /** What the system does not back up (API 21); the app's files before. Makes folders: not on main. */
    static File of(Context context) {
        if (Build.VERSION.SDK_INT >= 21) {
            try {
                Method noBackup = Context.class.getMethod("getNoBackupFilesDir");
                return (File) noBackup.invoke(context);
            } catch (Exception older) {
                // The app's files.
            }
        }
        return context.getFilesDir();
    }
}
