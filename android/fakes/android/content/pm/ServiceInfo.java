package android.content.pm;

/** A service in the manifest (core/java/android/content/pm/ServiceInfo.java, all levels). */
public class ServiceInfo {
    /** The class, with its package (PackageItemInfo). */
    public String name;
    public String packageName;

    public ServiceInfo(String packageName, String name) {
        this.packageName = packageName;
        this.name = name;
    }
}
