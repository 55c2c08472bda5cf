package dev.anrscope;

import android.app.ActivityManager;
import android.content.Context;
import java.util.List;

/** The thread that asks the system for the processes in error when the library judges a SIGQUIT. */
final class ErrorStates implements Runnable {
    private static Thread thread;

    private final ActivityManager manager;

    private ErrorStates(ActivityManager manager) {
        this.manager = manager;
    }

    static synchronized void start(Context context) {
        ActivityManager manager = (ActivityManager) context.getSystemService(Context.ACTIVITY_SERVICE);
        if (thread == null && manager != null) {
            begin();
            thread = new Thread(new ErrorStates(manager), "anrscope-errors");
            Threads.start(thread);
        }
    }

    static synchronized void stop() {
        if (thread != null) {
            thread = null;
            end();
        }
    }

    @Override
    public void run() {
        while (next()) {
            try {
                // The system returns null or an empty list if no process is in error.
                List<ActivityManager.ProcessErrorStateInfo> all = manager.getProcessesInErrorState();
                for (int at = 0; all != null && at < all.size(); at++) {
                    ActivityManager.ProcessErrorStateInfo one = all.get(at);
                    entry(
                            one.pid,
                            one.uid,
                            one.condition == ActivityManager.ProcessErrorStateInfo.NOT_RESPONDING);
                }
            } catch (Throwable denied) {
                // Treated as an empty list.
            }
            whole();
        }
    }

    private static native void begin();

    /** Waits for a request; returns false after {@link #end}. */
    private static native boolean next();

    private static native void entry(int pid, int uid, boolean notResponding);

    private static native void whole();

    private static native void end();
}
