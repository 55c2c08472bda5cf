package android.content.pm;

import android.os.Looper;
import host.HostApp;

/** Answers for the one fake app. Notes calls on main, where a call into the system is costly. */
public class PackageManager {
    public static final int GET_META_DATA = 0x80;
    public static final int PERMISSION_GRANTED = 0;
    public static final int PERMISSION_DENIED = -1;

    /** Entries {@code UID PERMISSION}. */
    public static final java.util.Set<String> hostGranted = java.util.concurrent.ConcurrentHashMap.newKeySet();

    public static volatile int hostCallsOnMain;

    public static class NameNotFoundException extends Exception {}

    public ApplicationInfo getApplicationInfo(String name, int flags) throws NameNotFoundException {
        check(name);
        return HostApp.info((flags & GET_META_DATA) != 0);
    }

    public PackageInfo getPackageInfo(String name, int flags) throws NameNotFoundException {
        check(name);
        PackageInfo info = new PackageInfo();
        info.packageName = name;
        info.versionCode = HostApp.versionCode;
        info.versionName = HostApp.versionName;
        info.lastUpdateTime = HostApp.lastUpdateTime;
        return info;
    }

    private static void check(String name) throws NameNotFoundException {
        if (HostApp.packagesFail) {
            // AOSP core/java/android/app/ApplicationPackageManager.java, getPackageInfo, API 21 to 23, whose system is
            // going down; from API 24 on it is another RuntimeException, around a DeadSystemException.
            throw new RuntimeException("Package manager has died");
        }
        if (Looper.myLooper() == Looper.getMainLooper()) {
            hostCallsOnMain++;
        }
        if (!HostApp.packageName.equals(name)) {
            throw new NameNotFoundException();
        }
    }
}
