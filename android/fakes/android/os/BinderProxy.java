package android.os;

/** What the app has of a token of the system: described as any Object (core/java/android/os/BinderProxy.java, 29 on). */
public final class BinderProxy {}
