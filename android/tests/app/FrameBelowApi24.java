package dev.anrscope;

import android.view.ViewRootImpl;
import host.Clock;
import host.Vsync;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;

/**
 * Frames of a system whose windows have no metrics (below API 24), in real time, as in the library. Bursts with pauses,
 * some frames slow. Prints how many frames were drawn and reported, how many were reported shorter than measured here,
 * the frame rate over the vsync periods in which a frame was requested, and the frame rate by reported duration.
 */
public final class FrameBelowApi24 extends Observer {
    private static final long MS = 1_000_000;

    private final FrameScript script = new FrameScript(-1);
    /** For each frame: the vsync it was requested for, and the end of its draw. */
    private final List<long[]> drawn = new ArrayList<long[]>();
    private final List<Long> reported = Collections.synchronizedList(new ArrayList<Long>());
    private int bursts = 3;

    @Override
    public void onFrame(String scene, long begin, long total, long input, long animation, long traversal, long latency) {
        reported.add(total);
    }

    private void burst() {
        if (bursts-- == 0) {
            FrameScript.quit();
            return;
        }
        script.main.postDelayed(() -> script.draw(40, this::work), 400);
    }

    private void work() {
        long intended = ViewRootImpl.hostIntended();
        FrameScript.cost((drawn.size() % 20 == 7 ? 120 : 1) * MS);
        drawn.add(new long[] {intended, Clock.nanos()});
    }

    public static void main(String[] words) {
        FrameBelowApi24 frames = new FrameBelowApi24();
        frames.script.askFirst = false;
        Natives.set("fps_window_ms", "600000");
        Observers.add(frames);
        frames.script.start();
        frames.script.then(frames::burst);
        frames.burst();
        frames.script.run();
        frames.print();
    }

    private void print() {
        double interval = Vsync.intervalNs();
        HashSet<Long> wanted = new HashSet<Long>();
        int shorter = 0;
        for (int at = 0; at < Math.min(drawn.size(), reported.size()); at++) {
            long[] frame = drawn.get(at);
            long total = reported.get(at);
            shorter += total < frame[1] - frame[0] ? 1 : 0;
            long first = Vsync.number(frame[0]);
            long took = Math.max(1, (long) Math.ceil(total / interval - 1e-6));
            for (long period = first; period < first + took; period++) {
                wanted.add(period);
            }
        }
        System.out.println("frames " + drawn.size() + " reported " + reported.size() + " shorter " + shorter);
        System.out.println("truth " + reported.size() * 1e9 / (wanted.size() * interval));
    }
}
