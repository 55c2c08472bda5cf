package dev.anrscope;

import android.graphics.Canvas;
import android.view.View;
import host.Clock;

/**
 * The overlay over 11 s of frames in virtual time. Words: rate, ms that a frame takes, and {@code refused} if the user
 * allows no such window.
 */
public final class FrameOverlay {
    private static long changedMs;
    private static Object content;

    private FrameOverlay() {}

    public static void main(String[] words) {
        FrameScript script = new FrameScript(1_000);
        double hz = Double.parseDouble(words[0]);
        script.displays.hostRate(hz);
        script.windows.allowed = words.length < 3;
        script.start();
        FrameMonitor.overlay(script.app, true);
        System.out.println("shown " + Overlay.isShown());
        if (!Overlay.isShown()) {
            script.main.post(FrameScript::quit);
            script.run();
            return;
        }
        View panel = script.windows.views().get(0);
        long cost = Math.round(Double.parseDouble(words[1]) * 1_000_000);
        long endMs = Clock.nanos() / 1_000_000 + 11_000;
        script.draw(
                1_000_000,
                () -> {
                    FrameScript.cost(cost);
                    check(panel);
                    if (Clock.nanos() / 1_000_000 >= endMs) {
                        script.draw(1, () -> {});
                    }
                });
        script.then(
                () -> {
                    Canvas canvas = new Canvas();
                    panel.draw(canvas);
                    for (String line : canvas.hostDrawn()) {
                        System.out.println("drawn " + line);
                    }
                    FrameMonitor.overlay(script.app, false);
                    System.out.println("windows " + script.windows.views().size());
                    FrameScript.quit();
                });
        script.run();
    }

    /** Lets the frames thread run; returns whether the overlay changed. */
    private static void check(View panel) {
        FrameScript.settle();
        Object now = FrameScript.value(panel.getClass(), panel, "content");
        if (now != content) {
            long nowMs = Clock.nanos() / 1_000_000;
            if (content != null) {
                System.out.println("apart " + (nowMs - changedMs));
            }
            content = now;
            changedMs = nowMs;
        }
    }
}
