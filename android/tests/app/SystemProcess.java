package dev.anrscope;

import android.app.ActivityManager;

/** What Android's system process does to the app. */
final class SystemProcess {
    private SystemProcess() {}

    /** Work that may throw. */
    interface Work {
        void run() throws Exception;
    }

    /** Runs this on a thread of its own. */
    static void run(String name, Work work) {
        Thread system =
                new Thread(
                        () -> {
                            try {
                                work.run();
                            } catch (Exception fault) {
                                throw new AssertionError(fault);
                            }
                        },
                        name);
        system.setDaemon(true);
        system.start();
    }

    /** Lists the app as not responding, and sends SIGQUIT. */
    static void reportAnr() {
        ActivityManager.hostInError(ActivityManager.ProcessErrorStateInfo.NOT_RESPONDING);
        signal("-QUIT");
    }

    /** Sends a signal to this process, from another one. */
    static void signal(String option) {
        try {
            new ProcessBuilder("kill", option, String.valueOf(ProcessHandle.current().pid())).start().waitFor();
        } catch (java.io.IOException | InterruptedException fault) {
            throw new AssertionError(fault);
        }
    }
}
