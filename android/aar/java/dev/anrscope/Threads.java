package dev.anrscope;

import java.util.ArrayList;

/**
 * Starts the threads of the shims. Those that main asks for while the app starts are started by another one: each costs whoever
 * starts it a stack, which is mapped, and a walk through the kernel.
 */
final class Threads {
    /** Those that wait; null where they are started at once. */
    private static ArrayList<Thread> waiting;

    private Threads() {}

    /** From now on threads wait for {@link #startAll}, which somebody will call. */
    static synchronized void later() {
        if (waiting == null) {
            waiting = new ArrayList<Thread>(8);
        }
    }

    /** Starts a daemon, now or in a moment. */
    static synchronized void start(Thread thread) {
        thread.setDaemon(true);
        if (waiting != null) {
            waiting.add(thread);
        } else {
            thread.start();
        }
    }

    /** Starts what waits; threads wait no more. */
    static synchronized void startAll() {
        ArrayList<Thread> all = waiting;
        waiting = null;
        if (all != null) {
            for (int at = 0; at < all.size(); at++) {
                try {
                    all.get(at).start();
                } catch (Throwable none) {
                    // There is no memory for it: what it would do is not done, and the app goes on.
                }
            }
        }
    }
}
