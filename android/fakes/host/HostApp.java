package host;

import android.content.pm.ApplicationInfo;
import android.os.Bundle;
import java.io.File;
import java.util.HashMap;
import java.util.Map;

/** What the fake system knows about its one app. */
public final class HostApp {
    public static String packageName = "com.example.app";
    public static volatile boolean debuggable = true;
    public static int versionCode = Integer.getInteger("android.host.version", 1).intValue();
    public static String versionName = System.getProperty("android.host.version.name");
    /** When the app was installed, ms since 1970. */
    public static volatile long lastUpdateTime;
    /** The package manager does not answer. */
    public static boolean packagesFail = Boolean.getBoolean("android.host.packages.fail");
    /** The manifest's meta-data. */
    public static final Bundle META = new Bundle();
    /** The APK's assets. */
    public static final Map<String, byte[]> ASSETS = new java.util.concurrent.ConcurrentHashMap<String, byte[]>();
    /** Intents for activities, which nothing starts by itself. */
    public static final java.util.Deque<android.content.Intent> STARTED =
            new java.util.concurrent.ConcurrentLinkedDeque<android.content.Intent>();
    public static final Map<String, Object> SERVICES = new HashMap<String, Object>();

    private HostApp() {}

    public static ApplicationInfo info(boolean metaData) {
        ApplicationInfo info = new ApplicationInfo();
        info.packageName = packageName;
        info.flags = debuggable ? ApplicationInfo.FLAG_DEBUGGABLE : 0;
        info.processName = System.getProperty("anrscope.name", packageName);
        info.dataDir = data();
        info.metaData = metaData ? META : null;
        return info;
    }

    private static String data() {
        return System.getProperty("android.host.data", System.getProperty("anrscope.dir", "."));
    }

    public static File directory(String name) {
        File directory = new File(data(), name);
        directory.mkdirs();
        return directory;
    }
}
