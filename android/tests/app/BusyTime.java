package dev.anrscope;

/** The duration of the busy hang. Not instrumented: a generated app asks it whether to stop. */
public final class BusyTime {
    /** Duration, ns; a process that is killed would have continued. */
    private static volatile long length;
    private static volatile boolean endless;
    /** By {@code System.nanoTime}, 0 before the hang begins. */
    private static volatile long begun;

    /** Set when the time is up, for loops that call nothing. */
    public static volatile boolean up;
    private static volatile long result;

    private BusyTime() {}

    static void length(long ms, boolean killed) {
        length = ms * 1_000_000;
        endless = killed;
    }

    static long begun() {
        return begun;
    }

    /** The message has begun. */
    public static void begin() {
        begun = System.nanoTime();
    }

    /** Whether the hang is over. */
    public static boolean over() {
        return !endless && part(100);
    }

    /** Whether this many percent of the hang are over. */
    public static boolean part(int percent) {
        return System.nanoTime() - begun >= length / 100 * percent;
    }

    /** A loop's result, so that no compiler removes the loop. */
    public static void keep(long value) {
        result += value;
    }
}
