package dev.anrscope;

import android.content.Context;
import java.io.File;
import java.io.IOException;

/** The public API of anrscope without a recorder: for builds that must not be monitored. */
public final class Anrscope {
    private Anrscope() {}

    /** Does nothing. */
    public static void install(Context context) {}

    /** Does nothing. */
    public static void install(Context context, Config config) {}

    /** Always false. */
    public static boolean isRecording() {
        return false;
    }

    /** Always false: the foreground state is not tracked. */
    public static boolean isForeground() {
        return false;
    }

    /** Does nothing. */
    public static void start(Tracer tracer) {}

    /** Does nothing. */
    public static void stop(Tracer tracer) {}

    /** Does nothing; returns false. */
    public static boolean set(String key, String value) {
        return false;
    }

    /** Always empty. */
    public static String options() {
        return "";
    }

    /** Does nothing. */
    public static void refresh() {}

    /** Does nothing. */
    public static void setListener(IssueListener issues) {}

    /** Does nothing: there are no recordings. */
    public static void setUploader(Uploader uploader) {}

    /** Always fails: there are no recordings. */
    public static void exportTrace(File recording, File out) throws IOException {
        throw new IOException("this build has anrscope-no-op.aar, which records nothing");
    }

    /** Always empty. */
    public static File[] recordings(Context context) {
        return new File[0];
    }

    /** Does nothing. */
    public static void setAnrListener(AnrListener listener) {}

    /** Does nothing. */
    public static void addObserver(Observer observer) {}

    /** Does nothing. */
    public static void removeObserver(Observer observer) {}

    /** Does nothing. */
    public static void setScene(String scene) {}

    /** Does nothing. */
    public static void mark(String name) {}

    /** Does nothing. */
    public static void counter(String name, double value) {}

    /** Does nothing. */
    public static void watch(Thread thread, long limitMillis) {}

    /** Does nothing. */
    public static void beat() {}

    /** Does nothing. */
    public static void unwatch(Thread thread) {}

    /** Does nothing; returns false. */
    public static boolean dump() {
        return false;
    }
}
