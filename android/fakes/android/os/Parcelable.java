package android.os;

/** What can be sent to another process (core/java/android/os/Parcelable.java, all levels). */
public interface Parcelable {}
