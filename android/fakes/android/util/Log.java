package android.util;

import java.util.ArrayList;
import java.util.List;

/** The log; {@link #hostLines} returns it. */
public final class Log {
    public static final int VERBOSE = 2;
    public static final int DEBUG = 3;
    public static final int INFO = 4;
    public static final int WARN = 5;
    public static final int ERROR = 6;

    private static final List<String> LINES = new ArrayList<String>();

    private Log() {}

    public static int println(int priority, String tag, String text) {
        synchronized (LINES) {
            LINES.add(" VDIWEA".charAt(priority - 1) + "/" + tag + ": " + text);
        }
        return text.length();
    }

    /** What was logged, as {@code LEVEL/TAG: text}. */
    public static List<String> hostLines() {
        synchronized (LINES) {
            return new ArrayList<String>(LINES);
        }
    }

    public static boolean isLoggable(String tag, int level) {
        return level >= INFO;
    }

    public static int v(String tag, String text) {
        return println(VERBOSE, tag, text);
    }

    public static int d(String tag, String text) {
        return println(DEBUG, tag, text);
    }

    public static int i(String tag, String text) {
        return println(INFO, tag, text);
    }

    public static int w(String tag, String text) {
        return println(WARN, tag, text);
    }

    public static int w(String tag, String text, Throwable cause) {
        return println(WARN, tag, text + ": " + cause);
    }

    public static int e(String tag, String text) {
        return println(ERROR, tag, text);
    }

    public static int e(String tag, String text, Throwable cause) {
        return println(ERROR, tag, text + ": " + cause);
    }
}
