package dev.anrscope;

import android.content.Context;
import android.hardware.display.DisplayManager;
import host.HostApp;
import host.HostWindows;

/** Tracers that are off by default, switched on and off at run time, and the history that the density tracer keeps. */
public final class AppTracers {
    private AppTracers() {}

    public static void main(String[] words) {
        HostApp.SERVICES.put(Context.DISPLAY_SERVICE, new DisplayManager());
        HostApp.SERVICES.put(Context.WINDOW_SERVICE, new HostWindows());
        AppScript script = new AppScript(false, () -> {});
        Config.Builder config = new Config.Builder().history(false);
        Anrscope.install(script.app, words[0].equals("density") ? config.density(true).build() : config.build());
        script.show(1, new AppScript.Home());
        for (int at = 0; at < 300; at++) {
            script.then(0, () -> {});
        }
        script.then(1, () -> System.out.println("kept " + (LooperMonitor.history(5_000).split("\n").length > 250)));
        script.then(1, () -> System.out.println("shown " + Overlay.isShown()));
        script.then(1, () -> Anrscope.start(Tracer.OVERLAY)).until("the overlay", Overlay::isShown);
        script.then(1, () -> Anrscope.stop(Tracer.OVERLAY)).until("no overlay", () -> !Overlay.isShown());
        script.then(1, () -> System.out.println("shown " + Overlay.isShown()));
        script.run(10);
    }
}
