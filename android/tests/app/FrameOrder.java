package dev.anrscope;

import android.os.Build;
import android.view.Choreographer;
import android.view.MotionEvent;
import android.view.ViewRootImpl;

/**
 * Five frames with work in each stage, in real time: what is recorded of them, and that no hook remains. {@code
 * denied}: Choreographer denies access to its queues. {@code strict}: it rejects callbacks for a past time.
 */
public final class FrameOrder {
    private FrameOrder() {}

    public static void main(String[] words) {
        FrameScript script = new FrameScript(-1);
        if (words[0].equals("denied")) {
            script.choreographer.hostDenied();
        }
        script.choreographer.hostStrict = words[0].equals("strict");
        script.start();
        TouchMonitor.enable(true, false);
        Anrscope.addObserver(
                new Observer() {
                    @Override
                    public void onFrame(
                            String scene, long begin, long total, long input, long animation, long traversal, long latency) {
                        System.out.println("frame " + scene + " " + (begin > 0 && total > 0) + " " + latency / 1_000_000);
                    }
                });
        int vsyncs = script.choreographer.hostVsyncs;
        script.draw(5, () -> FrameScript.cost(2_000_000));
        // Each frame has the app's own callbacks, among them one that handles input.
        input(script, 5);
        animation(script, 5);
        script.then(
                () -> {
                    System.out.println("vsyncs " + (script.choreographer.hostVsyncs - vsyncs));
                    script.main.postDelayed(FrameScript::quit, 100);
                });
        script.run();
        for (int type = 0; type < Choreographer.hostStages(); type++) {
            System.out.println("waiting " + script.choreographer.hostWaiting(type));
        }
        System.out.println(
                "left "
                        + script.window.hostObservers()
                        + " "
                        + script.window.getDecorView().getViewTreeObserver().hostListeners()
                        + " "
                        + script.displays.hostListeners());
    }

    private static void animation(FrameScript script, int times) {
        if (times > 0) {
            script.choreographer.postFrameCallback(
                    frame -> {
                        FrameScript.cost(1_000_000);
                        animation(script, times - 1);
                    });
        }
    }

    private static void touched(long ms) {
        TouchMonitor.dispatched(MotionEvent.obtain(ms, ms, MotionEvent.ACTION_MOVE, 1, 2, 0));
    }

    private static void input(FrameScript script, int times) {
        if (times > 0) {
            script.choreographer.postCallback(
                    Choreographer.CALLBACK_INPUT,
                    () -> {
                        // 30 and 10 ms old.
                        long now = System.nanoTime();
                        ViewRootImpl.hostInput(now - 30_000_000, now - 10_000_000);
                        if (Build.VERSION.SDK_INT >= 24) {
                            touched(now / 1_000_000 - 30);
                            touched(now / 1_000_000 - 10);
                        }
                        FrameScript.cost(1_000_000);
                        input(script, times - 1);
                    },
                    null);
        }
    }
}
