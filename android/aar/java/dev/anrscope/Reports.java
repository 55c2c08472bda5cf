package dev.anrscope;

import android.util.Log;

/** The thread that takes finished reports from the library and delivers them to the app. */
final class Reports implements Runnable {
    static final String TAG = "anrscope";

    private static Thread thread;

    private final IssueListener listener;

    private Reports(IssueListener listener) {
        this.listener = listener;
    }

    /** Starts the thread once. {@code listener} may be null: then reports are only recorded, and logged if enabled. */
    static synchronized void start(IssueListener listener) {
        if (thread != null) {
            return;
        }
        wanted();
        thread = new Thread(new Reports(listener), "anrscope-reports");
        Threads.start(thread);
    }

    /** Stops the thread once it has delivered what is queued. */
    static synchronized void stop() {
        if (thread != null) {
            thread = null;
            end();
        }
    }

    @Override
    public void run() {
        String text;
        while ((text = next()) != null) {
            try {
                take(text);
            } catch (Throwable fault) {
                // Continue: without this thread no report would be delivered any more.
            }
        }
    }

    /** A report is a JSON object; blocks for the log and events for listeners are not. */
    private void take(String text) {
        if (text.charAt(0) == '!') {
            Anrscope.deliver(text);
        } else if (text.charAt(0) != '{') {
            log(text);
        } else if (listener != null) {
            try {
                listener.onIssue(text);
            } catch (Throwable thrown) {
                Log.e(TAG, "the listener threw", thrown);
            }
        }
    }

    /** Line by line: the log truncates long entries. */
    private static void log(String block) {
        int from = 0;
        while (from < block.length()) {
            int end = block.indexOf('\n', from);
            if (end < 0) {
                end = block.length();
            }
            Log.w(TAG, block.substring(from, end));
            from = end + 1;
        }
    }

    /** Reports are queued for {@link #next} from now on. */
    private static native void wanted();

    /** Waits for the next report or block. Returns null after {@link #end}. */
    private static native String next();

    private static native void end();
}
