package dev.anrscope;

import android.util.Log;

/** The thread that takes finished reports out of the library and gives them to the app. */
final class Reports implements Runnable {
    static final String TAG = "anrscope";

    private static Thread thread;

    private final IssueListener listener;

    private Reports(IssueListener listener) {
        this.listener = listener;
    }

    /** Starts the thread, once. {@code listener} may be null: then reports are only recorded, and logged if that is wanted. */
    static synchronized void start(IssueListener listener) {
        if (thread != null) {
            return;
        }
        wanted();
        thread = new Thread(new Reports(listener), "anrscope-reports");
        Threads.start(thread);
    }

    /** Ends the thread, once it has given away what is there. */
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
                // The next one may fare better: without this thread nothing would be reported any more.
            }
        }
    }

    /** A report is an object; a block for the log and a word for the observers are not. */
    private void take(String text) {
        if (text.charAt(0) == '!') {
            Anrscope.told(text);
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

    /** Line by line: the log cuts long entries. */
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

    /** From now on reports are kept for {@link #next}. */
    private static native void wanted();

    /** The next report or block; waits for it. Null after {@link #end}. */
    private static native String next();

    private static native void end();
}
