package dev.anrscope;

import android.os.Build;
import android.os.Handler;
import android.view.FrameMetrics;
import android.view.Window;

/** What a window's frames cost. From API 24 on: nobody touches this class below. */
final class FrameMetricsShim implements Window.OnFrameMetricsAvailableListener {
    /** The numbers that each level knows: up to FIRST_DRAW_FRAME, with the vsyncs, with GPU and deadline. */
    private static final int KNOWN = Build.VERSION.SDK_INT >= 31 ? 14 : Build.VERSION.SDK_INT >= 26 ? 12 : 10;

    private final long[] numbers = FrameMonitor.room();

    private final FrameMonitor monitor;

    private FrameMetricsShim(FrameMonitor monitor) {
        this.monitor = monitor;
    }

    /** Gives what {@link #remove} takes; null where the window tells nothing. */
    static Object add(Window window, Handler handler, FrameMonitor monitor) {
        try {
            FrameMetricsShim shim = new FrameMetricsShim(monitor);
            window.addOnFrameMetricsAvailableListener(shim, handler);
            return shim;
        } catch (Throwable refused) {
            return null;
        }
    }

    static void remove(Window window, Object shim) {
        try {
            window.removeOnFrameMetricsAvailableListener((FrameMetricsShim) shim);
        } catch (Throwable gone) {
            // The window is.
        }
    }

    @Override
    public void onFrameMetricsAvailable(Window window, FrameMetrics metrics, int lost) {
        for (int id = 0; id < KNOWN; id++) {
            numbers[id] = metrics.getMetric(id);
        }
        monitor.windowFrame(numbers);
    }
}
