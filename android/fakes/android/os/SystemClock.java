package android.os;

import host.Clock;

public final class SystemClock {
    private SystemClock() {}

    public static long uptimeMillis() {
        return Clock.nanos() / 1_000_000L;
    }

    /** API 35. */
    public static long uptimeNanos() {
        return Clock.nanos();
    }

    public static long elapsedRealtime() {
        return elapsedRealtimeNanos() / 1_000_000L;
    }

    public static long elapsedRealtimeNanos() {
        return Clock.nanos() + Clock.sleptNanos();
    }

    public static long currentThreadTimeMillis() {
        return java.lang.management.ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / 1_000_000L;
    }

    public static void sleep(long ms) {
        if (Clock.isVirtual()) {
            Clock.advance(ms);
            return;
        }
        try {
            Thread.sleep(ms);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
