package android.os;

/** Of Android's interface the name alone. */
public interface IBinder {}
