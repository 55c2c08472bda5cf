package dev.anrscope;

import android.view.ViewRootImpl;
import host.Clock;
import host.Vsync;
import java.util.HashSet;

/**
 * Bursts of frames with pauses, some of them slow, with slow messages that are not frames, and a pipeline after main,
 * in virtual time. Prints the frame rate over the vsync periods in which a frame was requested. Words: rate, intervals
 * of the pipeline, bursts.
 */
public final class FrameRates {
    private static final long MS = 1_000_000;
    private static final long[] COSTS = {3, 5, 4, 6, 2, 5, 21, 3, 5, 4, 6, 2, 47, 5};

    private final FrameScript script = new FrameScript(1_000);
    private final HashSet<Long> wanted = new HashSet<Long>();
    private final double intervalNs;
    private int frames;
    private int bursts;

    private FrameRates(double hz, int pipeline, int bursts) {
        this.bursts = bursts;
        intervalNs = 1e9 / hz;
        script.displays.hostRate(hz);
        script.window.root().hostCommandNs = Math.round(pipeline * intervalNs);
    }

    public static void main(String[] words) {
        FrameRates rates =
                new FrameRates(Double.parseDouble(words[0]), Integer.parseInt(words[1]), Integer.parseInt(words[2]));
        TestOptions.set(words, 3, words.length);
        rates.script.start();
        rates.script.then(rates::burst);
        rates.burst();
        rates.script.run();
        double active = rates.wanted.size() * rates.intervalNs;
        System.out.println("truth " + rates.frames * 1e9 / active + " frames " + rates.frames);
    }

    private void burst() {
        if (bursts-- == 0) {
            FrameScript.quit();
            return;
        }
        // A second and a half of idle time, then 150 frames; twice a message of 300 ms comes in between.
        script.main.postDelayed(
                () -> {
                    script.draw(150, this::work);
                    script.main.postDelayed(() -> FrameScript.cost(300 * MS), 400);
                    script.main.postDelayed(() -> FrameScript.cost(300 * MS), 1_100);
                },
                1_500);
    }

    private void work() {
        FrameScript.cost(COSTS[frames % COSTS.length] * MS);
        frames++;
        long intended = ViewRootImpl.hostIntended();
        long first = Vsync.number(intended);
        long took = Math.max(1, (long) Math.ceil((Clock.nanos() - intended) / intervalNs - 1e-6));
        for (long period = first; period < first + took; period++) {
            wanted.add(period);
        }
    }
}
