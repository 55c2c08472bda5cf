package dev.anrscope;

import android.view.Choreographer;

/** Main hangs in a stage of a frame until an ANR is reported; meanwhile the process ends. */
public final class FrameHang {
    private FrameHang() {}

    public static void main(String[] words) {
        FrameScript script = new FrameScript(-1);
        Natives.set("lag_ms", "0");
        Natives.set("anr_ms", "300");
        StackSampler.start();
        script.start();
        Runnable hang = () -> hang(script);
        script.draw(
                3,
                () -> {
                    if (script.reports.isEmpty() && words[0].equals("traversal")) {
                        hang.run();
                    }
                });
        if (words[0].equals("input")) {
            script.choreographer.postCallback(Choreographer.CALLBACK_INPUT, hang, null);
        } else if (words[0].equals("animation")) {
            script.choreographer.postFrameCallback(frame -> hang.run());
        }
        script.run();
    }

    private static void hang(FrameScript script) {
        long end = System.nanoTime() + 60_000_000_000L;
        while (!script.reports.contains("\"ANR\"")) {
            if (System.nanoTime() > end) {
                throw new AssertionError("no ANR was reported");
            }
            FrameScript.cost(1_000_000);
        }
        new Thread(() -> System.exit(0)).start();
        while (true) {
            FrameScript.cost(10_000_000);
        }
    }
}
