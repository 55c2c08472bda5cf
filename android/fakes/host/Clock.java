package host;

import java.util.ArrayList;
import java.util.List;

/**
 * The fakes' clock: real, or virtual. Virtual time moves by {@link #advance}, and jumps to the next due message when
 * the main looper is idle.
 */
public final class Clock {
    private static final List<Runnable> WAITING = new ArrayList<Runnable>();
    /** Virtual time, ns; negative while time is real. */
    private static long virtualNs = -1;
    private static long sleptNs;

    private Clock() {}

    /** Switches to virtual time, starting at {@code startMs}. */
    public static synchronized void virtual(long startMs) {
        virtualNs = startMs * 1_000_000L;
    }

    public static synchronized boolean isVirtual() {
        return virtualNs >= 0;
    }

    /** Time without the device's sleep, ns; the real CLOCK_MONOTONIC if time is real. */
    public static synchronized long nanos() {
        return virtualNs >= 0 ? virtualNs : System.nanoTime();
    }

    /** How long the device slept, ns: {@code elapsedRealtime} is ahead of {@code uptimeMillis} by it. */
    public static synchronized long sleptNanos() {
        return sleptNs;
    }

    /** The device sleeps for this long. */
    public static synchronized void sleepDevice(long ms) {
        sleptNs += ms * 1_000_000L;
    }

    public static void advance(long ms) {
        advanceNanos(ms * 1_000_000L);
    }

    public static void advanceNanos(long ns) {
        Runnable[] waiting;
        synchronized (Clock.class) {
            if (virtualNs < 0) {
                throw new IllegalStateException("time is real: call Clock.virtual first");
            }
            virtualNs += ns;
            waiting = WAITING.toArray(new Runnable[0]);
        }
        for (Runnable wake : waiting) {
            wake.run();
        }
    }

    /** Moves virtual time to {@code ns} if that is later. */
    public static void jumpTo(long ns) {
        long ahead = ns - nanos();
        if (ahead > 0) {
            advanceNanos(ahead);
        }
    }

    /** Runs this after each move of virtual time. */
    public static synchronized void waitsForTime(Runnable wake) {
        WAITING.add(wake);
    }
}
