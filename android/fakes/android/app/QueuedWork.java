package android.app;

import java.util.concurrent.ConcurrentLinkedQueue;

/** API 25 and before: what main waits for when a component stops. */
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
