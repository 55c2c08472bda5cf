package android.os;

/** The methods in use, including one of API 23. Signatures only. */
public final class Debug {
    private Debug() {}

    public static boolean isDebuggerConnected() {
        return false;
    }

    public static long getNativeHeapAllocatedSize() {
        return 0;
    }

    /** API 23. */
    public static String getRuntimeStat(String statName) {
        return null;
    }
}
