package dev.anrscope;

import java.util.concurrent.atomic.AtomicInteger;

/** Counts what it is told. */
final class AppWatched extends Observer {
    static volatile boolean foreground;
    static volatile int created;
    static volatile int begun;
    static volatile String focused = "";
    static volatile int ended;
    static final AtomicInteger CHANGES = new AtomicInteger();

    @Override
    public void onForeground(boolean now) {
        foreground = now;
        CHANGES.incrementAndGet();
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
