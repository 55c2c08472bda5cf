package dev.anrscope;

import android.os.Handler;
import android.view.Window;

/** Source of a window's frame metrics. The implementation needs API 24; this interface does not. */
interface WindowMetrics {
    /** Starts listening, on the handler's thread; returns false if the window has no metrics. */
    boolean add(Window window, Handler handler, FrameMonitor monitor);

    /** Stops listening. */
    void remove(Window window);
}
