package dev.anrscope;

import android.os.Looper;

/** A system that accepts a Printer and does not call it at first. */
public final class AppSilent {
    private AppSilent() {}

    private static void work() {
        MethodBeat.i(200);
        MethodBeat.i(201);
        MethodBeat.o(201);
        MethodBeat.o(200);
    }

    /** Runs messages that call a method, until one of the last is reported in this way. */
    private static void until(AppScript script, String how) {
        script.until(
                how,
                () -> {
                    work();
                    return LooperMonitor.history(50).contains(how);
                });
    }

    public static void main(String[] words) {
        Looper.hostCallsNoPrinter = true;
        AppScript script = new AppScript(false, () -> {});
        until(script, "{method 200 -> ");
        script.then(1, () -> System.out.println("calls " + !LooperMonitor.history(200).contains("201")));
        script.then(1, () -> Looper.hostCallsNoPrinter = false);
        until(script, "{android.os.Handler ");
        script.then(1, () -> System.out.println("messages " + !LooperMonitor.history(50).contains("method")));
        script.run(10);
    }
}
