package dev.anrscope;

import android.app.Application;
import android.content.Context;

/** The monitors: which of them runs, by the options. All on main. */
final class Monitors {
    private static Application application;

    private Monitors() {}

    /** Starts what is switched on. */
    static void start(Context context) {
        if (context instanceof Application) {
            application = (Application) context;
            Lifecycle.start(application);
        }
        apply();
    }

    /** Starts what is on and does not run, and stops what is off. */
    static void apply() {
        if (application == null) {
            return;
        }
        boolean stuck = on("anr") || on("signal_anr");
        if (stuck || on("idle") || on("touch")) {
            StackSampler.start();
        } else {
            StackSampler.stop();
        }
        if (stuck || on("slow") || on("fps") || on("overlay") || on("touch") || on("tuning") || on("history") || on("density")
                || on("older_methods")) {
            LooperMonitor.start();
        } else {
            LooperMonitor.stop();
        }
        if (on("signal_anr")) {
            ErrorStates.start(application);
        } else {
            ErrorStates.stop();
        }
        if (on("fps") || on("overlay")) {
            FrameMonitor.start(application);
            FrameMonitor.overlay(application, on("overlay"));
        } else {
            FrameMonitor.stop();
        }
        if (on("startup") || on("shared_preferences_fix")) {
            StartMonitor.start();
        } else {
            StartMonitor.stop();
        }
        if (on("idle")) {
            IdleMonitor.start();
        } else {
            IdleMonitor.stop();
        }
        TouchMonitor.enable(on("touch"), on("startup") || on("older_methods"));
    }

    /** Stops everything, and takes out what was put into the system. */
    static void stop() {
        if (application != null) {
            Lifecycle.stop(application);
            application = null;
        }
        StartMonitor.stop();
        IdleMonitor.stop();
        TouchMonitor.enable(false, false);
        FrameMonitor.stop();
        LooperMonitor.stop();
        StackSampler.stop();
        ErrorStates.stop();
        Reports.stop();
    }

    private static boolean on(String key) {
        return Natives.number(key) != 0;
    }
}
