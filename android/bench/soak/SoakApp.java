package com.example.soak;

import android.app.Activity;
import android.app.ActivityManager;
import android.app.ActivityThread;
import android.app.Application;
import android.content.Context;
import android.hardware.display.DisplayManager;
import android.os.Handler;
import android.os.Looper;
import dev.anrscope.Anrscope;
import dev.anrscope.Config;
import dev.anrscope.StartProvider;
import host.HostApp;
import host.HostWindows;
import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * An app that is busy until its input ends: frames, messages, threads that start and end, bursts of calls, waits for
 * locks, and a compiler on threads of its own. Commands on the standard input: {@code stall} blocks main for 8 s,
 * {@code push} ends it after a little work, {@code end} ends it normally.
 */
public final class SoakApp {
    /** How long main is blocked, ms. */
    private static final long STALL_MS = 8_000;
    /**
     * Stall duration from which the fake system lists this process, ms: the system does so after 5 s without an answer.
     */
    private static final long LISTED_MS = 5_500;

    private SoakApp() {}

    static final class Home extends Activity {
        @Override
        protected void onCreate(android.os.Bundle state) {
            super.onCreate(state);
            Load.calls(200);
        }
    }

    public static void main(String[] words) throws Exception {
        HostApp.packageName = "com.example.soak";
        HostApp.SERVICES.put(Context.DISPLAY_SERVICE, new DisplayManager());
        HostApp.SERVICES.put(Context.WINDOW_SERVICE, new HostWindows());
        HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, new ActivityManager());
        Application app = new Application();
        ActivityThread thread = ActivityThread.hostMain(app, new StartProvider());
        Anrscope.setListener(json -> Load.reports.incrementAndGet());
        Config config =
                new Config.Builder().coarseClock(true).set("keep_recordings", words[1]).set("density", "1").build();
        Handler main = new Handler();
        main.post(() -> Anrscope.install(app, config));
        Home home = new Home();
        boolean push = words[0].equals("push");
        // One at a time, however late main is: each posts its own message to the queue.
        main.post(() -> thread.hostLaunch(home, true));
        main.postDelayed(() -> main.post(() -> thread.hostFocus(home, true)), 50);
        main.postDelayed(() -> main.post(() -> main.post(() -> ready(home, main, push))), 100);
        Thread input = new Thread(() -> listen(main), "input");
        input.setDaemon(true);
        input.start();
        Looper.loop();
        say("ended, " + Load.summary());
    }

    private static void ready(Home home, Handler main, boolean push) {
        Runnable draw =
                () -> {
                    Load.calls(30);
                    Load.frames++;
                };
        home.getWindow().getDecorView().hostOnDraw = draw;
        // Continuous frames with pauses: a page does not always move.
        Load.every(main, 16, () -> {
            if (Load.messages / 256 % 4 != 0) {
                home.getWindow().getDecorView().invalidate();
            }
        });
        Load.every(main, 7, () -> Load.calls(60));
        if (!push) {
            Load.every(main, 15_000, () -> Load.calls(400_000));
            Load.background();
        }
        say("ready");
    }

    private static void listen(Handler main) {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
            String line;
            while ((line = lines.readLine()) != null && !line.equals("end")) {
                if (line.equals("stall")) {
                    main.post(SoakApp::stall);
                } else if (line.equals("calm")) {
                    ActivityManager.hostInError(ActivityManager.ProcessErrorStateInfo.NO_ERROR);
                    say("calm");
                }
            }
        } catch (java.io.IOException gone) {
            // Treated as the end.
        }
        Load.over = true;
        main.post(() -> Looper.myLooper().quit());
    }

    /** Blocks main for a while. */
    private static void stall() {
        Thread watcher =
                new Thread(
                        () -> {
                            Load.sleep(LISTED_MS);
                            ActivityManager.hostInError(ActivityManager.ProcessErrorStateInfo.NOT_RESPONDING);
                            say("hangs");
                        },
                        "watcher");
        watcher.start();
        Load.sleep(STALL_MS);
        say("goes on");
    }

    /** One write per line: HotSpot prints its dumps to the same stream. */
    static void say(String what) {
        System.out.print("\nsoak " + what + "\n");
        System.out.flush();
    }
}
