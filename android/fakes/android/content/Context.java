package android.content;

import android.content.pm.ApplicationInfo;
import android.content.pm.PackageManager;
import host.HostApp;
import java.io.File;

public abstract class Context {
    public static final String ACTIVITY_SERVICE = "activity";
    public static final String DISPLAY_SERVICE = "display";
    public static final String NOTIFICATION_SERVICE = "notification";
    public static final String POWER_SERVICE = "power";
    public static final String WINDOW_SERVICE = "window";

    public abstract Object getSystemService(String name);

    public Context getApplicationContext() {
        return this;
    }

    public android.content.res.Resources getResources() {
        return new android.content.res.Resources();
    }

    /** API 17. */
    public Context createDisplayContext(android.view.Display display) {
        return this;
    }

    public String getPackageName() {
        return HostApp.packageName;
    }

    public ApplicationInfo getApplicationInfo() {
        return HostApp.info(false);
    }

    public PackageManager getPackageManager() {
        return new PackageManager();
    }

    /** Checks the process that makes the current call. */
    public int checkCallingPermission(String permission) {
        return PackageManager.hostGranted.contains(android.os.Binder.getCallingUid() + " " + permission)
                ? PackageManager.PERMISSION_GRANTED
                : PackageManager.PERMISSION_DENIED;
    }

    public android.content.res.AssetManager getAssets() {
        return new android.content.res.AssetManager();
    }

    /** The system starts it later; {@link HostApp#STARTED} has it. */
    public void startActivity(Intent intent) {
        HostApp.STARTED.add(intent);
    }

    public File getCacheDir() {
        return HostApp.directory("cache");
    }

    public File getFilesDir() {
        return HostApp.directory("files");
    }

    /** API 21. */
    public File getNoBackupFilesDir() {
        if (android.os.Build.VERSION.SDK_INT < 21) {
            throw new NoSuchMethodError("getNoBackupFilesDir");
        }
        return HostApp.directory("no_backup");
    }
}
