package host;

import java.util.ArrayList;
import java.util.List;

/**
 * The time that the fakes live in: the real one, or a virtual one that jumps. Virtual time moves when {@link #advance} says
 * so, and by itself when the main looper has nothing to do: to the next message that is due.
 */
public final class Clock {
    private static final List<Runnable> WAITING = new ArrayList<Runnable>();
    /** Ns of virtual time; negative while time is real. */
    private static long virtualNs = -1;
    private static long sleptNs;

    private Clock() {}

    /** From now on time is virtual and begins at {@code startMs}. */
    public static synchronized void virtual(long startMs) {
        virtualNs = startMs * 1_000_000L;
    }

    public static synchronized boolean isVirtual() {
        return virtualNs >= 0;
    }

    /** Time without sleep of the device, ns: CLOCK_MONOTONIC where it is real. */
    public static synchronized long nanos() {
        return virtualNs >= 0 ? virtualNs : System.nanoTime();
    }

    /** Time the device slept, ns: {@code elapsedRealtime} is ahead of {@code uptimeMillis} by it. */
    public static synchronized long sleptNanos() {
        return sleptNs;
    }

    /** The device sleeps for so long. */
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

    /** Moves virtual time to {@code ns} if it is before. */
    public static void jumpTo(long ns) {
        long ahead = ns - nanos();
        if (ahead > 0) {
            advanceNanos(ahead);
        }
    }

    /** Runs this whenever virtual time has moved. */
    public static synchronized void waitsForTime(Runnable wake) {
        WAITING.add(wake);
    }
}
