package dev.anrscope.export;

import java.io.File;
import java.io.IOException;

/** Exports recordings as traces. {@code Anrscope.exportTrace} calls it if the app has {@code anrscope-export.aar}. */
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
        if (UNUSABLE != null) {
            throw new IOException("libanrscope_export.so cannot be loaded", UNUSABLE);
        }
        String fault = export(recording.getPath(), map == null ? null : map.getPath(), out.getPath());
        if (fault != null) {
            throw new IOException(fault);
        }
    }

    /** Returns null on success, or else the error. */
    private static native String export(String recording, String map, String out);
}
