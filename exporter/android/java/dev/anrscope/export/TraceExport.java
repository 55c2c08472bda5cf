package dev.anrscope.export;

import java.io.File;
import java.io.IOException;

/**
 * Exports recordings as traces, and finds why main stalled. {@code Anrscope.exportTrace} calls it if the app has {@code
 * anrscope-export.aar}.
 */
public final class TraceExport {
    /** Why the library cannot be loaded; null if it is loaded. */
    private static final Throwable UNUSABLE = load();

    private TraceExport() {}

    private static Throwable load() {
        try {
            // An absolute path, for programs on a JVM.
            String path = System.getProperty("anrscope.export.lib");
            if (path == null) {
                System.loadLibrary("anrscope_export");
            } else {
                System.load(path);
            }
            return null;
        } catch (Throwable missing) {
            return missing;
        }
    }

    /**
     * Exports a recording as a Perfetto trace.
     *
     * @param map the build's methodMapping.txt, or null: then the trace has method ids instead of names
     * @throws IOException if the recording cannot be read, the trace cannot be written, or the library cannot be loaded
     */
    public static void write(File recording, File map, File out) throws IOException {
        check();
        answered(export(recording.getPath(), path(map), out.getPath()));
    }

    /**
     * Finds the last stall of main that took at least {@code leastMs}, or that main is still in, and writes the report
     * about it as an HTML page. Reads and writes files: not on main.
     *
     * @param map the build's methodMapping.txt, or null: then methods have names only where stacks were sampled
     * @param page the page to write; not written without a stall
     * @return the stall, or null if the recording has none
     * @throws IOException if the recording cannot be read, the page cannot be written, or the library cannot be loaded
     */
    public static Stall latestStall(File recording, File map, long leastMs, File page) throws IOException {
        check();
        String found = answered(stall(recording.getPath(), path(map), leastMs, page.getPath()));
        return found.isEmpty() ? null : Stall.parse(found);
    }

    /**
     * Replaces the stack bytes of the native stacks in a recording by their frames, which this device's files name. The
     * file is changed in place; a recording without stack bytes is not. Takes seconds for many stacks: not on main.
     *
     * @param recording the recording of a process that has ended
     * @return whether it has no stack bytes now; false if its process is still running
     * @throws IOException if the recording cannot be read or written, or the library cannot be loaded
     */
    public static boolean unwindStacks(File recording) throws IOException {
        check();
        return answered(unwind(recording.getPath())).isEmpty();
    }

    /** The answer of a native method, or else the error that it has. */
    private static String answered(String answer) throws IOException {
        if (answer == null) {
            throw new IOException("libanrscope_export.so had no memory for its answer");
        }
        if (answer.startsWith("!")) {
            throw new IOException(answer.substring(1));
        }
        return answer;
    }

    private static void check() throws IOException {
        if (UNUSABLE != null) {
            throw new IOException("libanrscope_export.so cannot be loaded", UNUSABLE);
        }
    }

    private static String path(File map) {
        return map == null ? null : map.getPath();
    }

    /** Returns an empty text on success, or {@code !} and the error. */
    private static native String export(String recording, String map, String out);

    /** Returns a stall as {@link Stall#parse} reads it, an empty text without one, or {@code !} and the error. */
    private static native String stall(String recording, String map, long leastMs, String page);

    /** Returns an empty text on success, {@code -} if the recording is in use, or {@code !} and the error. */
    private static native String unwind(String recording);
}
