package dev.anrscope;

import java.io.FileWriter;
import java.io.IOException;
import java.io.PrintWriter;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;

/**
 * Replaces the recorder's class on the boot class path, and checks what an overwriting ring cannot show: that in each
 * thread every exit matches the method entered last, and that an ended thread has exited every method it entered, and
 * ended its waits and tasks. When the JVM ends, writes one line for each kind of thread to the file {@code anrscope.counts}:
 * {@code ended|running threads enters exits open wrong waits waits-over steps tasks-started tasks-finished}.
 */
public final class MethodBeat {
    /** Handlers of instrumented code store here where a call has overflowed the stack. */
    public static int lost;

    public static final int[] LOST_ENDS = new int[16];

    private static final Set<Calls> THREADS = new LinkedHashSet<>();
    private static final ThreadLocal<Calls> CALLS = ThreadLocal.withInitial(Calls::new);

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(MethodBeat::write));
    }

    private MethodBeat() {}

    private static final class Calls {
        final Thread thread = Thread.currentThread();
        int[] stack = new int[256];
        int depth;
        long enters;
        long exits;
        long wrong;
        long waits;
        long waitsOver;
        long steps;
        long started;
        long finished;

        Calls() {
            synchronized (THREADS) {
                THREADS.add(this);
            }
        }
    }

    public static void i(int id) {
        Calls calls = CALLS.get();
        if (calls.depth == calls.stack.length) {
            calls.stack = Arrays.copyOf(calls.stack, 2 * calls.depth);
        }
        calls.stack[calls.depth++] = id;
        calls.enters++;
    }

    public static void o(int id) {
        Calls calls = CALLS.get();
        calls.exits++;
        if (calls.depth == 0 || calls.stack[--calls.depth] != id) {
            calls.wrong++;
        }
    }

    public static void wb(int what, Object on) {
        if (what == 0) {
            return; // A method begins that takes locks.
        }
        CALLS.get().waits++;
    }

    public static void we(int kind, Object on) {
        CALLS.get().waitsOver++;
    }

    public static void wr(Object on) {}

    public static void wt(boolean taken, Object on) {}

    public static void c(Object object, Object other, int step, int method) {
        Calls calls = CALLS.get();
        calls.steps++;
        // Started and Finished of ConcurrencyStep in trace-format.
        if (step >>> 16 == 5) {
            calls.started++;
        } else if (step >>> 16 == 6) {
            calls.finished++;
        }
    }

    private static void write() {
        String file = System.getProperty("anrscope.counts");
        if (file == null) {
            return;
        }
        try (PrintWriter out = new PrintWriter(new FileWriter(file))) {
            for (boolean ended : new boolean[] {true, false}) {
                long[] sums = new long[10];
                synchronized (THREADS) {
                    for (Calls calls : THREADS) {
                        if (calls.thread.isAlive() != ended) {
                            long[] add = {
                                1, calls.enters, calls.exits, calls.depth, calls.wrong, calls.waits, calls.waitsOver,
                                calls.steps, calls.started, calls.finished
                            };
                            Arrays.setAll(sums, n -> sums[n] + add[n]);
                        }
                    }
                }
                out.print(ended ? "ended" : "running");
                for (long sum : sums) {
                    out.print(" " + sum);
                }
                out.println();
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
