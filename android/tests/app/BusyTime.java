package dev.anrscope;

/** How long the one busy hang lasts. Not instrumented: a generated app asks it whether it may stop. */
public final class BusyTime {
    /** So long, ns; one that is killed would have gone on. */
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

    /** What a loop worked out, so that no compiler leaves it out. */
    public static void keep(long value) {
        result += value;
    }
}
