package dev.anrscope;

import android.content.Context;
import android.os.Build;
import java.io.File;
import java.lang.reflect.Method;

/** Where recordings go. Makes folders: not on main. */
final class Folders {
    private Folders() {}

    /** What the system does not back up (API 21); the app's files before. */
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
