package android.os;

public final class Debug {
    /** What {@link #isDebuggerConnected} says. */
    public static volatile boolean hostDebugger;
    /** What {@link #getNativeHeapAllocatedSize} says, bytes. */
    public static volatile long hostNativeHeap = 12L << 20;

    private Debug() {}

    public static boolean isDebuggerConnected() {
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
