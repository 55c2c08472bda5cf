package dev.anrscope;

import android.app.ActivityThread;
import android.os.SystemClock;

/** Starts of every kind, in virtual time; words: the kind, options as KEY=VALUE. */
public final class AppStarts {
    private AppStarts() {}

    public static void main(String[] words) {
        String kind = words[0];
        if (kind.equals("denied")) {
            ActivityThread.hostDenied = true;
        }
        AppScript script = new AppScript(true, () -> SystemClock.sleep(300));
        // Excludes the JVM's time before virtual time begins.
        Config.Builder config = TestOptions.add(new Config.Builder().goodColdMs(8_000), words, 1);
        Anrscope.install(script.app, config.build());
        AppScript.Home home = new AppScript.Home(kind.equals("slow") ? 12_000 : kind.equals("away") ? 30_000 : 0);
        AppScript.Splash splash = new AppScript.Splash();
        Runnable nothing = () -> {};
        switch (kind) {
            case "splash":
                Anrscope.install(script.app, new Config.Builder().splashActivities("dev.anrscope.AppScript$Splash").build());
                script.show(400, splash).focus(500, splash, false).show(1, home);
                break;
            case "end":
                Anrscope.install(script.app, new Config.Builder().endActivities("dev.anrscope.AppScript$Detail", "dev.anrscope.AppScript$Home").build());
                script.show(400, splash).focus(700, splash, false).show(1, home);
                break;
            case "service":
                script.then(400, () -> script.thread.hostSend(114, nothing)).show(5_000, home);
                break;
            case "receiver":
                script.then(400, () -> script.thread.hostSend(113, nothing));
                break;
            case "none":
                Anrscope.install(script.app, new Config.Builder().hasActivity(false).build());
                script.then(400, () -> script.thread.hostSend(114, nothing));
                break;
            case "relaunch":
                script.then(400, () -> script.thread.hostSend(160, nothing)).show(10, home);
                break;
            case "again":
                // The process runs, then no activity exists; then one does, in the background.
                Anrscope.install(script.app, new Config.Builder().warmMs(1_000).build());
                script.show(400, home).leave(1_000, home).then(10, () -> script.thread.hostDestroy(home));
                AppScript.Home second = new AppScript.Home(1_500);
                script.show(5_000, second).leave(3_000, second);
                // The worker checks after the background's half second of real time, independent of virtual time.
                script.then(1_000, () -> AppScript.await("background", () -> !Anrscope.isForeground()));
                // The restart may be handled up to one vsync after it is due: more than the 600 ms that make a hot
                // start bad.
                script.then(1, () -> script.thread.hostRestart(second)).focus(620, second, true);
                break;
            default:
                script.show(400, home);
                // The same window again, and another of the class.
                script.focus(500, home, true);
        }
        Anrscope.addObserver(new CountingObserver());
        script.run(60_000);
        System.out.println("created " + CountingObserver.created);
    }
}
