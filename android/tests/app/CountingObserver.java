package dev.anrscope;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts the observer's callbacks. */
final class CountingObserver extends Observer {
    static volatile int created;
    static volatile int begun;
    /** A message began twice, or ended twice. */
    static volatile boolean twice;
    private static String last;
    static volatile String focused = "";
    static volatile int ended;
    static final AtomicInteger CHANGES = new AtomicInteger();
    /** It was in the background. */
    static final AtomicBoolean GONE = new AtomicBoolean();

    @Override
    public void onForeground(boolean now) {
        CHANGES.incrementAndGet();
        if (!now) {
            GONE.set(true);
        }
    }

    @Override
    public void onApplicationCreated() {
        created++;
    }

    @Override
    public void onActivityFocused(String activity) {
        focused += activity.substring(activity.lastIndexOf('$') + 1) + " ";
    }

    @Override
    public void onMessageBegin(String line) {
        seen(line);
        begun++;
    }

    @Override
    public void onMessageEnd(String line) {
        seen(line);
        ended++;
        throw new IllegalStateException("an observer's own fault");
    }

    private static void seen(String line) {
        // The Looper creates a text for each line.
        twice |= line == last;
        last = line;
    }
}
