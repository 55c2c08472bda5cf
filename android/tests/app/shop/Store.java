package com.example.shop;

import dev.anrscope.MethodBeat;

/** The app of the hangs: wherever main calls it from, it loads for too long. Its methods are instrumented. */
public final class Store {
    private static final int ON_EVENT = 310;
    private static final int LOAD = 311;

    private static volatile long begun;

    private Store() {}

    /** When the hang began by {@code System.nanoTime}, 0 before that. */
    public static long begun() {
        return begun;
    }

    public static void onEvent(long ms) {
        MethodBeat.i(ON_EVENT);
        load(ms);
        MethodBeat.o(ON_EVENT);
    }

    private static void load(long ms) {
        MethodBeat.i(LOAD);
        begun = System.nanoTime();
        try {
            Thread.sleep(ms);
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
        MethodBeat.o(LOAD);
    }
}
