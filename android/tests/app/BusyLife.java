package dev.anrscope;

import android.app.ActivityManager;
import android.content.Context;
import android.hardware.display.DisplayManager;
import host.HostApp;

/**
 * Main is busy once, in a message of a generated app: package, for how many ms, and {@code ends} or {@code killed} (at
 * the end of that time), then options KEY=VALUE. The system lists the app and sends SIGQUIT at three quarters of the
 * time. Real time.
 */
public final class BusyLife {
    private BusyLife() {}

    private static void fromOutside(String name, Runnable work) {
        Thread system = new Thread(work, name);
        system.setDaemon(true);
        system.start();
    }

    private static void sleepUntil(long ms) {
        try {
            while (BusyTime.begun() == 0) {
                Thread.sleep(2);
            }
            long left = ms - (System.nanoTime() - BusyTime.begun()) / 1_000_000;
            if (left > 0) {
                Thread.sleep(left);
            }
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
    }

    private static void signal(String name) {
        try {
            String pid = Long.toString(ProcessHandle.current().pid());
            new ProcessBuilder("kill", name, pid).start().waitFor();
        } catch (java.io.IOException | InterruptedException fault) {
            throw new AssertionError(fault);
        }
    }

    /** Posts the long message: {@code Start} of the package runs in it. */
    private static void post(String start) {
        try {
            Class.forName(start + ".Start").getMethod("post").invoke(null);
        } catch (ReflectiveOperationException fault) {
            throw new AssertionError(fault);
        }
    }

    public static void main(String[] words) {
        HostApp.SERVICES.put(Context.DISPLAY_SERVICE, new DisplayManager());
        HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, new ActivityManager());
        long ms = Long.parseLong(words[1]);
        boolean killed = words[2].equals("killed");
        BusyTime.length(ms, killed);
        AppScript script = new AppScript(false, () -> {});
        Config.Builder config = new Config.Builder();
        for (int at = 3; at < words.length; at++) {
            int equals = words[at].indexOf('=');
            config.set(words[at].substring(0, equals), words[at].substring(equals + 1));
        }
        Anrscope.install(script.app, config.build());
        AppScript.Home home = new AppScript.Home();
        script.show(10, home);
        // The page is drawn, and main was idle.
        script.then(300, () -> post(words[0]));
        fromOutside(
                "Binder:system",
                () -> {
                    sleepUntil(ms * 3 / 4);
                    ActivityManager.hostInError(ActivityManager.ProcessErrorStateInfo.NOT_RESPONDING);
                    signal("-QUIT");
                });
        fromOutside(
                "time",
                () -> {
                    sleepUntil(ms);
                    if (killed) {
                        signal("-KILL");
                    }
                    BusyTime.up = true;
                });
        script.until("the end of the hang", () -> BusyTime.begun() > 0);
        // Reports after the hang.
        script.run(500);
    }
}
