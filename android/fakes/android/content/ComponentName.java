package android.content;

/** A component's package and class (core/java/android/content/ComponentName.java, all levels). */
public final class ComponentName {
    private final String packageName;
    private final String className;

    public ComponentName(String packageName, String className) {
        this.packageName = packageName;
        this.className = className;
    }

    public String getPackageName() {
        return packageName;
    }

    public String getClassName() {
        return className;
    }

    /** A class in the package, or in a package below, is written with a dot and without the package. */
    public String flattenToShortString() {
        boolean within = className.startsWith(packageName + ".");
        return packageName + "/" + (within ? className.substring(packageName.length()) : className);
    }
}
