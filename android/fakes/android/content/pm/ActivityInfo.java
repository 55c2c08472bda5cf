package android.content.pm;

/** An activity or a receiver in the manifest (core/java/android/content/pm/ActivityInfo.java, all levels). */
public class ActivityInfo {
    /** The class, with its package (PackageItemInfo). */
    public String name;
    public String packageName;

    public ActivityInfo(String packageName, String name) {
        this.packageName = packageName;
        this.name = name;
    }
}
