package android.content.pm;

public class PackageInfo {
    public String packageName;
    /** AOSP {@code core/java/android/content/pm/PackageInfo.java}, API 1: {@code android:versionCode}. */
    public int versionCode;
    /** The same file, API 1: {@code android:versionName}; null in a package whose manifest has none. */
    public String versionName;
    /** The same file, API 9: when the app was last installed or updated, ms since 1970. */
    public long lastUpdateTime;
}
