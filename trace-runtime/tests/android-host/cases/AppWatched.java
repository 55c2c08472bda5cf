package dev.anrscope;

import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts what it is told. */
final class AppWatched extends Observer {
    static volatile int created;
    static volatile int begun;
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
        begun++;
    }

    @Override
    public void onMessageEnd(String line) {
        ended++;
        throw new IllegalStateException("an observer's own fault");
    }
}
