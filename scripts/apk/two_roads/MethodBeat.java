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
 * writes a line for each thread to the file {@code anrscope.events}: its name, a tab, and {@code iID} or {@code oID} for each call.
 */
public final class MethodBeat {
    private static final List<Calls> THREADS = new ArrayList<>();
    private static final ThreadLocal<Calls> CALLS = ThreadLocal.withInitial(Calls::new);

    static {
        Runtime.getRuntime().addShutdownHook(new Thread(MethodBeat::write));
    }

    private MethodBeat() {}

    private static final class Calls {
        final String thread = Thread.currentThread().getName();
        /** An enter is its id, an exit the complement of its id. */
        int[] ids = new int[1024];
        int count;

        Calls() {
            synchronized (THREADS) {
                THREADS.add(this);
            }
        }

        void add(int call) {
            if (count == ids.length) {
                ids = Arrays.copyOf(ids, 2 * count);
            }
            ids[count++] = call;
        }
    }

    public static void i(int id) {
        CALLS.get().add(id);
    }

    public static void o(int id) {
        CALLS.get().add(~id);
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
                        int id = calls.ids[n];
                        out.print(id >= 0 ? " i" + id : " o" + ~id);
                    }
                    out.println();
                }
            }
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }
}
