package dev.anrscope;

/** The clock of the loops in tests/suites/src/busy_hangs. It ends them after a number of calls: each run makes the same ones. */
public final class BusyTime {
    private static final int ROUNDS = 4;
    /** Calls of this thread. */
    private static final ThreadLocal<int[]> CALLS = ThreadLocal.withInitial(() -> new int[1]);

    /** For loops that call nothing. */
    public static volatile boolean up = true;

    private static volatile long result;

    private BusyTime() {}

    public static void begin() {}

    public static boolean over() {
        return part(100);
    }

    public static boolean part(int percent) {
        return ++CALLS.get()[0] >= ROUNDS * percent / 100;
    }

    public static void keep(long value) {
        result = value;
    }
}
