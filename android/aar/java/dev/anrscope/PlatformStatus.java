package dev.anrscope;

import android.os.Build;
import android.os.Debug;
import android.os.PowerManager;

/**
 * API 23: garbage collections, the Java heap, the device's heat and battery saver, polled during a stall on the sampler's
 * thread. Nothing here calls another process: the device's heat is reported to {@link #thermal}, and battery saver
 * is read where the platform caches it.
 */
final class PlatformStatus {
    /** The level that it needs: {@code Debug.getRuntimeStat}. */
    static final int SDK = 23;

    /** Minimum time between two polls, as the library polls the kernel. */
    private static final long INTERVAL_NS = 500_000_000;

    /** {@code PowerManager.isPowerSaveMode} reads a cache (AOSP 12, {@code mPowerSaveModeCache}). */
    private static final int CACHED_SDK = 31;

    /** The device's thermal status; -1 where the system reports none. See {@link ThermalListener}. */
    static volatile int thermal = -1;

    /** Asked for battery saver from API 31 on; null where it is not known. See {@link ThermalListener}. */
    static volatile PowerManager power;

    private static long last;

    private PlatformStatus() {}

    /** Polls if it is time to; on the sampler's thread only. */
    static void poll() {
        long now = System.nanoTime();
        if (last != 0 && now - last < INTERVAL_NS) {
            return;
        }
        last = now;
        Runtime runtime = Runtime.getRuntime();
        long used = runtime.totalMemory() - runtime.freeMemory();
        record(
                stat("art.gc.gc-time"),
                stat("art.gc.gc-count"),
                stat("art.gc.blocking-gc-time"),
                used,
                runtime.maxMemory(),
                thermal,
                Build.VERSION.SDK_INT >= CACHED_SDK ? powerSave() : -1);
    }

    /** A number that ART counts (AOSP 6, {@code dalvik/system/VMDebug.java}); times are ms. -1 if it is unknown. */
    private static long stat(String name) {
        try {
            return Long.parseLong(Debug.getRuntimeStat(name));
        } catch (NumberFormatException unknown) {
            return -1;
        }
    }

    private static int powerSave() {
        PowerManager known = power;
        return known == null ? -1 : known.isPowerSaveMode() ? 1 : 0;
    }

    /** Records a poll; -1 is an unknown number, times are ms, sizes bytes. */
    private static native void record(
            long gcTime, long gcs, long blockingGcTime, long heapUsed, long heapMax, long thermal, long powerSave);
}
