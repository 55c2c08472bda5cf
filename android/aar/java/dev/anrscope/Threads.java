package dev.anrscope;

import java.util.ArrayList;

/**
 * Starts the library's Java threads. Threads that main requests during the app's start are started by another thread:
 * each start costs the caller a mapped stack and a system call.
 */
final class Threads {
    /** Threads whose start is deferred; null if threads start at once. */
    private static ArrayList<Thread> waiting;

    private Threads() {}

    /** Defers starts until {@link #startAll}, which the install thread calls. */
    static synchronized void later() {
        if (waiting == null) {
            waiting = new ArrayList<Thread>(8);
        }
    }

    /** Starts a daemon thread, now or deferred. */
    static synchronized void start(Thread thread) {
        thread.setDaemon(true);
        if (waiting != null) {
            waiting.add(thread);
        } else {
            thread.start();
        }
    }

    /** Starts the deferred threads; later ones start at once. */
    static synchronized void startAll() {
        ArrayList<Thread> all = waiting;
        waiting = null;
        if (all != null) {
            for (int at = 0; at < all.size(); at++) {
                try {
                    all.get(at).start();
                } catch (Throwable none) {
                    // No memory for the thread: its work is not done, and the app continues.
                }
            }
        }
    }
}
