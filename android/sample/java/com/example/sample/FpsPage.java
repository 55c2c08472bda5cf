package com.example.sample;

import com.example.sample.FrameView.Stage;

/** Frames: a moving view, and late frames of each level. */
public final class FpsPage extends Page {
    @Override
    void fill() {
        int side = (int) (48 * getResources().getDisplayMetrics().density);
        FrameView moving = new FrameView(this);
        add(moving, side);
        text("At 60 Hz: 4 frames dropped are NORMAL, 10 MIDDLE, 25 HIGH, 43 FROZEN.");
        for (int dropped : new int[] {4, 10, 25, 43}) {
            long millis = (dropped + 1) * 1_000 / 60;
            button(dropped + " frames, in measure", () -> moving.slow(Stage.MEASURE, millis));
        }
        button("10 frames, in draw", () -> moving.slow(Stage.DRAW, 183));
        button("10 frames, in an animation", () -> moving.slow(Stage.ANIMATION, 183));
        button("10 frames, in the next touch of the moving view", () -> moving.slow(Stage.INPUT, 183));
    }
}
