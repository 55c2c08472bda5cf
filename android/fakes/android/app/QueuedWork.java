package android.app;

import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * What main waits for when a component stops: the finishers, as at API 25 and before (core/java/android/app/QueuedWork.java).
 * From 26 on the list has another name, and main first runs the writes that no thread has begun.
 */
public class QueuedWork {
    private static final ConcurrentLinkedQueue<Runnable> sPendingWorkFinishers = new ConcurrentLinkedQueue<Runnable>();

    public static void add(Runnable finisher) {
        sPendingWorkFinishers.add(finisher);
    }

    public static void waitToFinish() {
        Runnable finisher;
        while ((finisher = sPendingWorkFinishers.poll()) != null) {
            finisher.run();
        }
    }
}
