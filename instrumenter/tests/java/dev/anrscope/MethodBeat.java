package dev.anrscope;

import java.io.PrintWriter;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * A fake of the runtime: checks that on each thread every {@code o(id)} closes the {@code i(id)}
 * that was opened last, and writes the counts to the file named by the property {@code beat.out}.
 */
public final class MethodBeat {
    /** What handlers of instrumented code store. */
    public static int lost;

    public static final int[] LOST_ENDS = new int[16];

    private static final class Calls {
        int[] open = new int[64];
        int depth;
        long enters;
        long exits;
        /** Number of open waits when the method at the same index of {@code open} was entered. */
        int[] waitsAtEnter = new int[64];
        int[] waitKinds = new int[64];
        int waitDepth;
        long waits;
        long releases;
        String wrong;
    }

    private static final ConcurrentLinkedQueue<Calls> ALL = new ConcurrentLinkedQueue<>();
    private static final ThreadLocal<Calls> CALLS = ThreadLocal.withInitial(() -> {
        Calls calls = new Calls();
        ALL.add(calls);
        return calls;
    });
    /** As readers of a recording do: an exit closes every call left open above its enter. */
    private static final boolean LENIENT = Boolean.getBoolean("beat.lenient");

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(MethodBeat::report));
    }

    public static void i(int id) {
        Calls calls = CALLS.get();
        if (calls.depth == calls.open.length) {
            calls.open = java.util.Arrays.copyOf(calls.open, 2 * calls.depth);
            calls.waitsAtEnter = java.util.Arrays.copyOf(calls.waitsAtEnter, 2 * calls.depth);
        }
        calls.waitsAtEnter[calls.depth] = calls.waitDepth;
        calls.open[calls.depth++] = id;
        calls.enters++;
    }

    public static void o(int id) {
        Calls calls = CALLS.get();
        calls.exits++;
        if (LENIENT) {
            int at = calls.depth - 1;
            while (at >= 0 && calls.open[at] != id) {
                at--;
            }
            calls.depth = at >= 0 ? at : calls.depth;
        } else if (calls.depth > 0 && calls.open[calls.depth - 1] == id) {
            calls.depth--;
            if (calls.waitsAtEnter[calls.depth] != calls.waitDepth && calls.wrong == null) {
                calls.wrong = "o(" + id + ") with waits open since its i";
            }
        } else if (calls.wrong == null) {
            int top = calls.depth > 0 ? calls.open[calls.depth - 1] : 0;
            calls.wrong = "o(" + id + ") while " + top + " is open, " + Thread.currentThread().getName();
        }
    }

    /** {@code what} has the number of the call above the 4 bits of the kind. */
    public static void wb(int what, Object on) {
        int kind = what & 15;
        if (kind == 0) {
            return; // A method begins that takes locks.
        }
        Calls calls = CALLS.get();
        if (calls.waitDepth == calls.waitKinds.length) {
            calls.waitKinds = java.util.Arrays.copyOf(calls.waitKinds, 2 * calls.waitDepth);
        }
        calls.waitKinds[calls.waitDepth++] = kind;
        calls.waits++;
    }

    public static void we(int kind, Object on) {
        Calls calls = CALLS.get();
        // 9 ends the wait for a lock that was not taken.
        int begun = kind == 9 ? 7 : kind;
        if (calls.waitDepth > 0 && calls.waitKinds[calls.waitDepth - 1] == begun) {
            calls.waitDepth--;
        } else if (calls.wrong == null && !LENIENT) {
            calls.wrong = "we(" + kind + ") without its wb";
        }
        if (kind == 1 && on != null && !Thread.holdsLock(on) && calls.wrong == null) {
            calls.wrong = "the wait for a monitor has ended, and it is not held";
        }
    }

    public static void wr(Object on) {
        CALLS.get().releases++;
    }

    public static void wt(boolean taken, Object on) {
        if (on == null) {
            CALLS.get().wrong = "tried a lock that is null";
        }
    }

    /** With the property {@code anrscope.steps}, each step is printed: thread, step, line, classes, method. */
    public static void c(Object object, Object other, int step, int method) {
        if (STEPS) {
            String text = "step " + Thread.currentThread().getName() + " " + (step >>> 16) + " " + (step & 0xFFFF) + " "
                    + name(object) + " " + name(other) + " " + method;
            synchronized (System.err) {
                System.err.println(text);
            }
        }
    }

    private static final boolean STEPS = Boolean.getBoolean("anrscope.steps");

    /** Class and identity, so that a test sees which steps are about the same object. */
    private static String name(Object object) {
        if (object == null) {
            return "null";
        }
        String simple = object.getClass().getSimpleName();
        return (simple.contains("Lambda") ? "lambda" : simple) + "@" + System.identityHashCode(object);
    }

    public static void at(android.app.Activity activity, boolean hasFocus) {
        focus.Log.EVENTS.add(((Object) activity).getClass().getSimpleName() + " " + hasFocus);
    }

    private static void report() {
        long enters = 0;
        long exits = 0;
        long open = 0;
        long waits = 0;
        long waitsOpen = 0;
        long releases = 0;
        String wrong = "none";
        for (Calls calls : ALL) {
            enters += calls.enters;
            exits += calls.exits;
            open += calls.depth;
            waits += calls.waits;
            waitsOpen += calls.waitDepth;
            releases += calls.releases;
            wrong = calls.wrong == null ? wrong : calls.wrong;
        }
        try (PrintWriter out = new PrintWriter(System.getProperty("beat.out"), "UTF-8")) {
            out.println("enters=" + enters);
            out.println("exits=" + exits);
            out.println("open=" + open);
            out.println("waits=" + waits);
            out.println("waitsOpen=" + waitsOpen);
            out.println("releases=" + releases);
            out.println("wrong=" + wrong);
        } catch (java.io.IOException failed) {
            failed.printStackTrace();
        }
    }

    private MethodBeat() {}
}
