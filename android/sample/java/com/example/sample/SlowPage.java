package com.example.sample;

import dev.anrscope.Anrscope;

/** Stalls that are slow messages but no ANR. */
public final class SlowPage extends StallPage {
    private int pressed;

    @Override
    long millis() {
        return 1_000;
    }

    @Override
    void fill() {
        text("Each takes 1 s; messages of 700 ms and more are reported.");
        super.fill();
        button("A mark and a counter", () -> {
            pressed++;
            Anrscope.mark("pressed");
            Anrscope.counter("presses", pressed);
        });
    }
}
