package dev.anrscope.export;

import java.io.File;
import java.io.IOException;

/** Writes recordings as traces: what {@code Anrscope.exportTrace} finds where the app has {@code anrscope-export.aar}. */
public final class TraceExport {
    /** Why the library cannot be used; null if it can. */
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
     * Writes a recording as a Perfetto trace.
     *
     * @param map the build's methodMapping.txt, or null: then methods have numbers for names
     * @throws IOException if the recording cannot be read, the trace not be written, or the library not be loaded
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

    /** Null if it was done, or else why not. */
    private static native String export(String recording, String map, String out);
}
