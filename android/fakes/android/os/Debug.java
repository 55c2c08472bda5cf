package android.os;

public final class Debug {
    /** The result of {@link #isDebuggerConnected}. */
    public static volatile boolean hostDebugger;
    /** The result of {@link #getNativeHeapAllocatedSize}, bytes. */
    public static volatile long hostNativeHeap = 12L << 20;

    /** As on a system where the class cannot be initialised. */
    public static volatile boolean hostBroken;

    private Debug() {}

    public static boolean isDebuggerConnected() {
        if (hostBroken) {
            throw new ExceptionInInitializerError("android.os.Debug");
        }
        return hostDebugger;
    }

    public static boolean waitingForDebugger() {
        return false;
    }

    public static long getNativeHeapAllocatedSize() {
        return hostNativeHeap;
    }

    public static long getNativeHeapSize() {
        return 2 * hostNativeHeap;
    }
}
