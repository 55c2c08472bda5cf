package dev.anrscope;

/** A main thread that only calls short methods for two seconds. */
public final class OverheadLife {
    private OverheadLife() {}

    private static void item() {
        MethodBeat.i(301);
        MethodBeat.o(301);
    }

    public static void main(String[] words) {
        MethodBeat.i(1);
        Natives.set("max_overhead", words[0]);
        for (long end = System.nanoTime() + 2_000_000_000L; System.nanoTime() < end; ) {
            MethodBeat.i(300);
            for (int n = 0; n < 1_000; n++) {
                item();
            }
            MethodBeat.o(300);
        }
        MethodBeat.o(1);
    }
}
