package dev.anrscope;

import android.os.Looper;
import host.Clock;

/**
 * Vsyncs that were not requested, on a page that does not change, in real time; prints how many vsyncs the library
 * requested. Words: the rate, how long the page does not change in ms, and {@code still} (nothing else runs on main),
 * {@code timers} (messages run as well) or {@code late} (one vsync right after the last frame).
 */
public final class FrameVsync {
    private static final int FRAMES = 10;
    private static final long MS = 1_000_000;

    private final FrameScript script = new FrameScript(-1);
    private final long idleMs;

    private FrameVsync(long idleMs) {
        this.idleMs = idleMs;
    }

    public static void main(String[] words) {
        FrameVsync vsync = new FrameVsync(Long.parseLong(words[1]));
        vsync.script.displays.hostRate(Double.parseDouble(words[0]));
        vsync.script.start();
        vsync.idle(words[2]);
        vsync.script.run();
    }

    /** In the poll, in no message, as vsyncs are. */
    private void unexpected(long afterMs) {
        Looper.myQueue().hostNative(Clock.nanos() + afterMs * MS, script.choreographer::hostUnexpectedVsync);
    }

    private void idle(String how) {
        script.then(
                () -> {
                    if (how.equals("late")) {
                        unexpected(1);
                    }
                    for (long at = 200; at < idleMs && !how.equals("late"); at += 100) {
                        unexpected(at);
                    }
                    if (how.equals("timers")) {
                        timer(idleMs / 10);
                    }
                    script.main.postDelayed(this::end, idleMs);
                });
        script.draw(FRAMES, () -> FrameScript.cost(2 * MS));
    }

    private void timer(long left) {
        if (left > 0) {
            script.main.postDelayed(() -> timer(left - 1), 10);
        }
    }

    private void end() {
        // Each drawn frame was requested once.
        System.out.println("asked " + (script.choreographer.hostVsyncs - FRAMES));
        script.then(() -> script.main.postDelayed(FrameScript::quit, 100));
        script.draw(FRAMES, () -> FrameScript.cost(2 * MS));
    }
}
