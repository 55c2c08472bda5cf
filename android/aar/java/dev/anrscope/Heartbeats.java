package dev.anrscope;

import java.util.Map;
import java.util.WeakHashMap;

/** The threads that {@link Anrscope#watch} watches. Only called once the library is loaded. */
final class Heartbeats {
    /** The tids of watched threads, and the limits of threads that have not beaten yet as negative numbers. */
    private static final Map<Thread, Long> THREADS = new WeakHashMap<Thread, Long>();

    private static volatile boolean used;

    /** Whether a thread waits for its first beat. */
    private static volatile boolean waiting;

    private Heartbeats() {}

    /** Whether any thread is or was watched. */
    static boolean isUsed() {
        return used;
    }

    static void watch(Thread thread, long limitMillis) {
        used = true;
        long limit = Math.max(1, limitMillis);
        synchronized (THREADS) {
            if (thread == Thread.currentThread()) {
                watchHere(limit);
            } else {
                THREADS.put(thread, -limit);
                waiting = true;
            }
        }
    }

    /** Watches the calling thread. With {@link #THREADS} locked. */
    private static void watchHere(long limit) {
        int tid = Natives.watch(limit);
        if (tid != 0) {
            THREADS.put(Thread.currentThread(), (long) tid);
        } else {
            THREADS.remove(Thread.currentThread());
        }
    }

    static void beat() {
        if (waiting) {
            first();
        }
        Natives.beat();
    }

    /** The first beat of a thread that another one has asked to watch. */
    private static void first() {
        synchronized (THREADS) {
            Long limit = THREADS.get(Thread.currentThread());
            if (limit != null && limit < 0) {
                watchHere(-limit);
            }
            boolean more = false;
            for (Long value : THREADS.values()) {
                more |= value < 0;
            }
            waiting = more;
        }
    }

    static void unwatch(Thread thread) {
        synchronized (THREADS) {
            Long tid = THREADS.remove(thread);
            // The tid of an ended thread may be another's by now.
            if (tid != null && tid > 0 && thread.isAlive()) {
                Natives.unwatch((int) (long) tid);
            }
        }
    }
}
