package dev.anrscope;

import android.content.Context;
import android.os.Process;
import java.io.File;
import java.io.IOException;
import java.lang.reflect.Method;

/**
 * Stack bytes of native stacks. They are the user's data: a recording that leaves the device has none. Their frames stay
 * if the app has the optional {@code anrscope-export.aar}, which unwinds them first. Not on main.
 */
final class StackBytes {
    private static final String EXPORTER = "dev.anrscope.export.TraceExport";

    private StackBytes() {}

    /** Unwinds and wipes the recordings of ended processes. */
    static synchronized void wipeAll(File directory) {
        unwindAll(directory);
        wipe(directory.getPath(), false);
        RecordingFiles.removeOldCopies(directory);
    }

    /** Unwinds the recordings of ended processes, which wipes them too, if the app has the exporter. */
    static synchronized void unwindAll(File directory) {
        Method unwind;
        try {
            unwind = Class.forName(EXPORTER).getMethod("unwindStacks", File.class);
        } catch (Throwable without) {
            return;
        }
        // Those of other running processes have a lock, which the exporter respects. A pid in a name may be another's by now.
        String own = "-" + Process.myPid() + ".anrscope";
        for (File recording : RecordingFiles.all(directory)) {
            try {
                if (!recording.getName().endsWith(own)) {
                    unwind.invoke(null, recording);
                }
            } catch (Throwable unreadable) {
                // Its bytes are wiped without frames.
            }
        }
    }

    /**
     * Checks that a recording, or a copy, may be given to another program: always in a debuggable build, else without
     * stack bytes, which are wiped if its process has ended.
     *
     * @throws IOException if stack bytes are left
     */
    static void check(Context context, File recording) throws IOException {
        if (Access.isDebuggable(context)) {
            return;
        }
        boolean clean;
        try {
            clean = wipe(recording.getPath(), RecordingFiles.isLive(recording));
        } catch (LinkageError notLoaded) {
            throw new IOException("the library is not loaded: stack bytes in the recording cannot be wiped", notLoaded);
        }
        if (!clean) {
            throw new IOException("the recording has stack bytes, which stay on the device: read a copy of it");
        }
    }

    /**
     * Wipes the recordings of a directory, or one recording or copy.
     *
     * @param inUse its process is running: it is not changed
     * @return whether a single one has no stack bytes now
     */
    private static native boolean wipe(String path, boolean inUse);
}
