package android.os;

import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;

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

    /**
     * API 23. ART's counters of collections (AOSP 6, {@code art/runtime/native/dalvik_system_VMDebug.cc}), here by the
     * collections of this JVM: all its collectors' times are pauses of the app's threads. Times are ms.
     */
    public static String getRuntimeStat(String statName) {
        long count = 0;
        long time = 0;
        for (GarbageCollectorMXBean collector : ManagementFactory.getGarbageCollectorMXBeans()) {
            count += Math.max(0, collector.getCollectionCount());
            time += Math.max(0, collector.getCollectionTime());
        }
        switch (statName) {
            case "art.gc.gc-count":
            case "art.gc.blocking-gc-count":
                return Long.toString(count);
            case "art.gc.gc-time":
            case "art.gc.blocking-gc-time":
                return Long.toString(time);
            default:
                return null;
        }
    }

    public static long getNativeHeapSize() {
        return 2 * hostNativeHeap;
    }
}
