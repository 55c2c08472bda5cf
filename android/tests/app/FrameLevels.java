package dev.anrscope;

import android.view.FrameMetrics;
import host.Vsync;

/**
 * Frames that drop an exact number of frames, at each refresh rate, in virtual time. Words: {@code key=value} options,
 * then rates.
 */
public final class FrameLevels {
    private static final int[] DROPS = {0, 2, 3, 8, 9, 23, 24, 41, 42};

    private final FrameScript script = new FrameScript(1_000);
    private final String[] rates;
    private int rate;
    private int frame;

    private FrameLevels(String[] rates) {
        this.rates = rates;
    }

    public static void main(String[] words) {
        FrameLevels levels = new FrameLevels(words[words.length - 1].split(","));
        TestOptions.set(words, 0, words.length - 1);
        Anrscope.addObserver(
                new Observer() {
                    @Override
                    public void onDroppedFrames(String scene, int dropped) {
                        System.out.println("dropped " + scene + " " + dropped);
                    }
                });
        levels.script.displays.hostRate(Double.parseDouble(levels.rates[0]));
        levels.script.askFirst = false;
        levels.script.start();
        levels.script.then(levels::next);
        levels.script.draw(DROPS.length, levels::work);
        levels.script.run();
    }

    /** The frame begins at its vsync: it drops what exceeds one interval. */
    private void work() {
        long whole = (DROPS[frame] + 1) * Vsync.intervalNs() + 2_000;
        FrameScript.cost(DROPS[frame] == 0 ? 5_000_000 : whole);
        frame++;
    }

    private void next() {
        rate++;
        frame = 0;
        if (rate < rates.length) {
            script.displays.hostRate(Double.parseDouble(rates[rate]));
            // No later frame is late.
            FrameScript.cost(1_000_000_000);
            script.draw(DROPS.length, this::work);
            return;
        }
        // Impossible metrics of some systems: discarded.
        long[] impossible = new long[14];
        impossible[FrameMetrics.SYNC_DURATION] = -1;
        script.window.hostShown(new FrameMetrics(impossible));
        impossible[FrameMetrics.SYNC_DURATION] = Long.MAX_VALUE;
        script.window.hostShown(new FrameMetrics(impossible));
        FrameScript.quit();
    }
}
