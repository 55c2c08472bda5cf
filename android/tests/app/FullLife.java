package dev.anrscope;

import android.os.Handler;
import android.os.Looper;

/** Messages with more events than main's ring has room for, and one with few. */
public final class FullLife {
    private FullLife() {}

    private static void work(int calls) {
        MethodBeat.i(300);
        for (int n = 0; n < calls; n++) {
            MethodBeat.i(301);
            MethodBeat.o(301);
        }
        MethodBeat.o(300);
    }

    public static void main(String[] words) throws InterruptedException {
        MethodBeat.i(1);
        Looper.prepareMainLooper();
        Natives.set("older_methods", words[0]);
        // Calls here are so short that they would be omitted.
        Natives.set("every_call", "1");
        LooperMonitor.start();
        Handler handler = new Handler();
        handler.post(() -> work(100));
        handler.post(() -> work(40_000));
        handler.post(() -> work(200));
        Looper.hostRunDue();
        // Another thread writes the report.
        Thread.sleep(1_000);
        LooperMonitor.stop();
        MethodBeat.o(1);
    }
}
