package dev.anrscope.debug;

import android.content.Context;
import android.os.Process;
import android.os.SystemClock;
import android.util.Log;
import dev.anrscope.Anrscope;
import dev.anrscope.export.Stall;
import dev.anrscope.export.TraceExport;
import java.io.File;
import java.io.IOException;

/**
 * Turns a stall into an answer, a trace and a notification, on a thread of its own. The thread starts with a stall and
 * ends when nothing is left to do.
 */
final class StallWorker implements Runnable {
    /** Minimum interval between two answers, ms. Of several stalls in between, the last one is explained. */
    private static final long MIN_INTERVAL_MS = Long.getLong("anrscope.debug.interval", 10_000L).longValue();

    /** A stall during the app's start counts if a page is shown within this time, ms. */
    private static final long FOREGROUND_WITHIN_MS = 2_000;

    private static final long POLL_MS = 50;

    private final Context context;
    private final long leastMs;
    private boolean running;
    private boolean pending;
    private boolean foreground;
    /** Number of stalls that ended. */
    private int count;
    /** When the last answer was given, by {@code elapsedRealtime}; 0 before the first. */
    private long answeredAt;
    /** The last stall that was shown. */
    private Stall shown;

    private boolean faultLogged;

    StallWorker(Context context, long leastMs) {
        this.context = context;
        this.leastMs = leastMs;
    }

    /** Main stalled, or is still blocked if it has not {@code ended}. */
    synchronized void wake(boolean ended, boolean foreground) {
        pending = true;
        this.foreground |= foreground;
        if (ended) {
            count++;
        }
        if (!running) {
            running = true;
            Thread thread = new Thread(this, "anrscope-stalls");
            thread.setDaemon(true);
            thread.start();
        }
    }

    @Override
    public void run() {
        try {
            Process.setThreadPriority(Process.THREAD_PRIORITY_BACKGROUND);
            while (isWanted()) {
                try {
                    if (isForeground()) {
                        answer();
                    }
                } catch (Throwable fault) {
                    logOnce(fault);
                }
            }
        } catch (InterruptedException ended) {
            synchronized (this) {
                running = false;
            }
        }
    }

    /** Waits until the next answer is due. Returns false if there is nothing to answer. */
    private boolean isWanted() throws InterruptedException {
        long waitMs = answeredAt == 0 ? 0 : answeredAt + MIN_INTERVAL_MS - SystemClock.elapsedRealtime();
        synchronized (this) {
            running = pending;
            if (!running) {
                return false;
            }
        }
        if (waitMs > 0) {
            Thread.sleep(waitMs);
        }
        synchronized (this) {
            pending = false;
        }
        return true;
    }

    /** Whether the app was in the foreground, or is soon. */
    private boolean isForeground() throws InterruptedException {
        long until = SystemClock.elapsedRealtime() + FOREGROUND_WITHIN_MS;
        while (true) {
            synchronized (this) {
                if (foreground || Anrscope.isForeground()) {
                    foreground = false;
                    return true;
                }
            }
            if (SystemClock.elapsedRealtime() > until) {
                return false;
            }
            Thread.sleep(POLL_MS);
        }
    }

    private void answer() throws IOException {
        File recording = own();
        if (recording == null) {
            throw new IOException("this process has no recording");
        }
        StallStore store = StallStore.of(context);
        // The recording changes while it is read, so a copy is read.
        File copy = store.copy(recording);
        try {
            File map = MethodNames.of(context, recording.getParentFile());
            Stall found = TraceExport.latestStall(copy, map, leastMs, store.newPage());
            if (found == null || shown != null && shown.sinceMs() == found.sinceMs() && shown.isEnded() == found.isEnded()) {
                return;
            }
            TraceExport.write(copy, map, store.newTrace());
            store.keep(found);
            shown = found;
            answeredAt = SystemClock.elapsedRealtime();
            int stalls;
            synchronized (this) {
                stalls = count;
            }
            StallNotification.show(context, found, stalls);
        } finally {
            copy.delete();
        }
    }

    /** The recording of this process. */
    private File own() {
        String end = "-" + Process.myPid() + ".anrscope";
        for (File recording : Anrscope.recordings(context)) {
            if (recording.getName().endsWith(end)) {
                return recording;
            }
        }
        return null;
    }

    private void logOnce(Throwable fault) {
        if (!faultLogged) {
            faultLogged = true;
            Log.w(Stalls.TAG, "a stall of main cannot be explained", fault);
        }
    }
}
