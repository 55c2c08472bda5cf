package host;

import java.util.concurrent.locks.LockSupport;

/** The display's clock: vsyncs at a rate that may change. */
public final class Vsync {
    private static double hz = 60;
    /** A vsync; the others are whole intervals from it. */
    private static long anchorNs;

    private Vsync() {}

    /** The display's refresh rate. */
    public static synchronized float hz() {
        return (float) hz;
    }

    public static synchronized long intervalNs() {
        return Math.round(1e9 / hz);
    }

    /** Sets the number of vsyncs per second from the next vsync on. */
    public static synchronized void rate(double newHz) {
        anchorNs = after(Clock.nanos());
        hz = newHz;
    }

    /** The first vsync after this time. */
    public static synchronized long after(long ns) {
        double interval = 1e9 / hz;
        long number = (long) Math.floor((ns - anchorNs) / interval) + 1;
        long at = anchorNs + Math.round(number * interval);
        return at > ns ? at : anchorNs + Math.round((number + 1) * interval);
    }

    /** The index of this vsync, at the current rate. */
    public static synchronized long number(long vsyncNs) {
        return Math.round((vsyncNs - anchorNs) * hz / 1e9);
    }

    /** Returns at this time at the earliest. */
    public static void await(long ns) {
        if (Clock.isVirtual()) {
            Clock.jumpTo(ns);
            return;
        }
        long left;
        while ((left = ns - Clock.nanos()) > 0) {
            LockSupport.parkNanos(left);
        }
    }
}
