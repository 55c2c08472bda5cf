package dev.anrscope;

import android.os.Handler;
import android.view.Window;

/** What tells of a window's frames. API 24 has it; this much of it is known to every level. */
interface WindowMetrics {
    /** Listens from now on, on the handler's thread; false where the window tells nothing. */
    boolean add(Window window, Handler handler, FrameMonitor monitor);

    /** Listens no more. */
    void remove(Window window);
}
