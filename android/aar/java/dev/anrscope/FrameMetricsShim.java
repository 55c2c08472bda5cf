package dev.anrscope;

import android.os.Build;
import android.os.Handler;
import android.view.FrameMetrics;
import android.view.Window;

/**
 * Reads the metrics of a window's frames. API 24 and later; on older systems no code may name this class, see {@link
 * OptionalClasses}.
 */
final class FrameMetricsShim implements WindowMetrics, Window.OnFrameMetricsAvailableListener {
    /** Number of metrics per API level: up to FIRST_DRAW_FRAME, with vsyncs, with GPU and deadline. */
    private static final int METRICS = Build.VERSION.SDK_INT >= 31 ? 14 : Build.VERSION.SDK_INT >= 26 ? 12 : 10;

    private final long[] numbers = FrameMonitor.room();

    private FrameMonitor monitor;

    @Override
    public boolean add(Window window, Handler handler, FrameMonitor monitor) {
        this.monitor = monitor;
        try {
            window.addOnFrameMetricsAvailableListener(this, handler);
            return true;
        } catch (Throwable refused) {
            return false;
        }
    }

    @Override
    public void remove(Window window) {
        try {
            window.removeOnFrameMetricsAvailableListener(this);
        } catch (Throwable gone) {
            // The window is already gone.
        }
    }

    @Override
    public void onFrameMetricsAvailable(Window window, FrameMetrics metrics, int lost) {
        for (int id = 0; id < METRICS; id++) {
            numbers[id] = metrics.getMetric(id);
        }
        monitor.windowFrame(numbers, lost);
    }
}
