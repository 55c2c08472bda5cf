package dev.anrscope;

import android.content.Context;
import java.io.File;
import java.io.IOException;

/** The app's side of anrscope, doing nothing: for builds that are not to be watched. */
public final class Anrscope {
    private Anrscope() {}

    /** Nothing. */
    public static void install(Context context) {}

    /** Nothing. */
    public static void install(Context context, Config config) {}

    /** Never. */
    public static boolean isRecording() {
        return false;
    }

    /** Not that anybody here knew. */
    public static boolean isForeground() {
        return false;
    }

    /** Nothing. */
    public static void start(Tracer tracer) {}

    /** Nothing. */
    public static void stop(Tracer tracer) {}

    /** Nothing. */
    public static boolean set(String key, String value) {
        return false;
    }

    /** None. */
    public static String options() {
        return "";
    }

    /** Nothing. */
    public static void refresh() {}

    /** Nothing. */
    public static void setListener(IssueListener issues) {}

    /** Nothing: nothing is recorded. */
    public static void setUploader(Uploader uploader) {}

    /** There is none to export. */
    public static void exportTrace(File recording, File out) throws IOException {
        throw new IOException("this build has anrscope-no-op.aar, which records nothing");
    }

    /** None. */
    public static File[] recordings(Context context) {
        return new File[0];
    }

    /** Nothing. */
    public static void setAnrListener(AnrListener listener) {}

    /** Nothing. */
    public static void addObserver(Observer observer) {}

    /** Nothing. */
    public static void removeObserver(Observer observer) {}

    /** Nothing. */
    public static void setScene(String scene) {}

    /** Nothing. */
    public static void mark(String name) {}

    /** Nothing. */
    public static void counter(String name, double value) {}

    /** Nothing. */
    public static boolean dump() {
        return false;
    }
}
