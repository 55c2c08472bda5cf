package dev.anrscope;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Replaces the recorder's class and keeps each call, so that two forms of a program can be compared call by call. When the JVM ends,
 * writes a line for each thread to the file {@code anrscope.events}: its name, a tab, and a word for each call: {@code iID}, {@code oID},
 * {@code bKIND} and {@code eKIND} for a wait's begin and end, {@code r} for a release, {@code t} for an attempt, and {@code cSTEP.LINE.ID}.
 * A sign follows for each object: {@code +}, or {@code -} for null.
 */
public final class MethodBeat {
    /** Handlers of instrumented code store here where a call has overflowed the stack. */
    public static int lost;

    public static final int[] LOST_ENDS = new int[16];

    private static final List<Calls> THREADS = new ArrayList<>();
    private static final ThreadLocal<Calls> CALLS = ThreadLocal.withInitial(Calls::new);

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(MethodBeat::write));
    }

    private MethodBeat() {}

    private static final class Calls {
        final String thread = Thread.currentThread().getName();
        /** The letter in the upper byte. */
        long[] all = new long[1024];
        int count;

        Calls() {
            synchronized (THREADS) {
                THREADS.add(this);
            }
        }

        void add(char letter, long value) {
            if (count == all.length) {
                all = Arrays.copyOf(all, 2 * count);
            }
            all[count++] = (long) letter << 56 | value;
        }
    }

    public static void i(int id) {
        CALLS.get().add('i', id);
    }

    public static void o(int id) {
        CALLS.get().add('o', id);
    }

    private static long is(Object object) {
        return object != null ? 1 : 0;
    }

    /** {@code what} has the number of the call above the kind. */
    public static void wb(int what, Object on) {
        if (what == 0) {
            return; // A method begins that takes locks.
        }
        CALLS.get().add('b', (long) what << 1 | is(on));
    }

    public static void we(int kind, Object on) {
        CALLS.get().add('e', kind << 1 | is(on));
    }

    public static void wr(Object lock) {
        CALLS.get().add('r', is(lock));
    }

    public static void wt(boolean taken, Object lock) {
        CALLS.get().add('t', (taken ? 2 : 0) | is(lock));
    }

    /** {@code step} has the kind of step above the line. */
    public static void c(Object object, Object other, int step, int method) {
        CALLS.get().add('c', (long) method << 34 | (long) step << 2 | is(object) << 1 | is(other));
    }

    private static String word(long call) {
        char letter = (char) (call >>> 56);
        long value = call & (1L << 56) - 1;
        switch (letter) {
            case 'i':
            case 'o':
                return letter + Long.toString(value);
            case 'c':
                int step = (int) (value >>> 2);
                return "c" + (step >>> 16) + "." + (step & 0xFFFF) + "." + (value >>> 34) + sign(value >>> 1) + sign(value);
            default:
                return letter + Long.toString(value >>> 1) + sign(value);
        }
    }

    private static String sign(long value) {
        return (value & 1) != 0 ? "+" : "-";
    }

    private static void write() {
        String file = System.getProperty("anrscope.events");
        if (file == null) {
            return;
        }
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(Paths.get(file), StandardCharsets.UTF_8))) {
            synchronized (THREADS) {
                for (Calls calls : THREADS) {
                    out.print(calls.thread + "\t");
                    for (int n = 0; n < calls.count; n++) {
                        out.print(" " + word(calls.all[n]));
                    }
                    out.println();
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
