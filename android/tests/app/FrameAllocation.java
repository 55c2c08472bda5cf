package dev.anrscope;

import java.lang.management.ManagementFactory;

/** Bytes per frame that the monitor allocates on main: with it minus without it, the Looper's lines in both. */
public final class FrameAllocation {
    private static final int FRAMES = 2_000;

    private final FrameScript script = new FrameScript(1_000);
    private long before;
    private long without;

    private FrameAllocation() {}

    public static void main(String[] words) {
        FrameAllocation frames = new FrameAllocation();
        frames.without();
        frames.script.run();
    }

    private void without() {
        // The first run of code allocates more.
        warm(() -> measured(allocated -> {
            without = allocated;
            // Without the window: its metrics come from a system thread, and from main only here.
            FrameMonitor.start(script.app, true);
            // The monitor follows its frames while it is drawn.
            script.window
                    .getDecorView()
                    .getViewTreeObserver()
                    .addOnPreDrawListener((android.view.ViewTreeObserver.OnPreDrawListener) FrameScript.value(FrameMonitor.class, null, "only"));
            FrameScript.page(FrameScript.PAGE);
            with();
        }));
    }

    private void with() {
        warm(() -> measured(allocated -> {
            System.out.println("bytes " + (allocated - without) / FRAMES);
            FrameScript.quit();
        }));
    }

    private void warm(Runnable then) {
        script.then(then);
        script.draw(FRAMES, () -> {});
    }

    private interface Result {
        void accept(long bytes);
    }

    private void measured(Result result) {
        before = allocated();
        script.then(() -> result.accept(allocated() - before));
        script.draw(FRAMES, () -> {});
    }

    private static long allocated() {
        com.sun.management.ThreadMXBean threads =
                (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        return threads.getThreadAllocatedBytes(Thread.currentThread().getId());
    }
}
