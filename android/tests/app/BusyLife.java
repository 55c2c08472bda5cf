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

    private static void sleepUntil(long ms) throws InterruptedException {
        while (BusyTime.begun() == 0) {
            Thread.sleep(2);
        }
        long left = ms - (System.nanoTime() - BusyTime.begun()) / 1_000_000;
        if (left > 0) {
            Thread.sleep(left);
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
        Anrscope.install(script.app, TestOptions.add(new Config.Builder(), words, 3).build());
        AppScript.Home home = new AppScript.Home();
        script.show(10, home);
        // The page is drawn, and main was idle.
        script.then(300, () -> post(words[0]));
        SystemProcess.run(
                "Binder:system",
                () -> {
                    sleepUntil(ms * 3 / 4);
                    SystemProcess.reportAnr();
                });
        SystemProcess.run(
                "time",
                () -> {
                    sleepUntil(ms);
                    if (killed) {
                        SystemProcess.signal("-KILL");
                    }
                    BusyTime.up = true;
                });
        script.until("the end of the hang", () -> BusyTime.begun() > 0);
        // Reports after the hang.
        script.run(500);
    }
}
