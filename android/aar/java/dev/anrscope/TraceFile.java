package dev.anrscope;

import android.os.Looper;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Passes a recording to the exporter of the optional {@code anrscope-export.aar}. */
final class TraceFile {
    private static final String EXPORTER = "dev.anrscope.export.TraceExport";

    private TraceFile() {}

    static void write(File recording, File out) throws IOException {
        if (recording == null || out == null) {
            throw new IOException("exportTrace needs a recording and an output file");
        }
        if (Looper.myLooper() != null && Looper.myLooper() == Looper.getMainLooper()) {
            throw new IOException("exportTrace reads and writes files: call it on another thread than main");
        }
        Method export;
        try {
            export = Class.forName(EXPORTER).getMethod("write", File.class, File.class, File.class);
        } catch (ReflectiveOperationException without) {
            throw new IOException("exportTrace needs the library anrscope-export.aar: add it to the app's dependencies", without);
        }
        File map = new File(recording.getParentFile(), "methodMapping.txt");
        File read = recording;
        if (RecordingFiles.isLive(recording)) {
            // It changes while it is read, so export a copy; in the recordings' directory, since it may have stack bytes.
            read = RecordingFiles.copy(recording, recording.getAbsoluteFile().getParentFile(), null);
        }
        try {
            export.invoke(null, read, map.isFile() ? map : null, out);
        } catch (InvocationTargetException thrown) {
            Throwable why = thrown.getCause();
            throw why instanceof IOException ? (IOException) why : new IOException(why);
        } catch (ReflectiveOperationException changed) {
            throw new IOException("anrscope-export.aar and anrscope.aar have different versions", changed);
        } finally {
            if (read != recording) {
                read.delete();
            }
        }
    }
}
