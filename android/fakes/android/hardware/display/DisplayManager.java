package android.hardware.display;

import android.os.Handler;
import android.view.Display;
import host.Vsync;
import java.util.ArrayList;
import java.util.List;

public final class DisplayManager {
    private static final Display DISPLAY = new Display();
    private final List<DisplayListener> listeners = new ArrayList<DisplayListener>();
    private final List<Handler> handlers = new ArrayList<Handler>();

    public interface DisplayListener {
        void onDisplayAdded(int displayId);

        void onDisplayRemoved(int displayId);

        void onDisplayChanged(int displayId);
    }

    public Display getDisplay(int displayId) {
        return displayId == Display.DEFAULT_DISPLAY ? DISPLAY : null;
    }

    public synchronized void registerDisplayListener(DisplayListener listener, Handler handler) {
        if (!listeners.contains(listener)) {
            listeners.add(listener);
            handlers.add(handler == null ? new Handler() : handler);
        }
    }

    public synchronized void unregisterDisplayListener(DisplayListener listener) {
        int at = listeners.indexOf(listener);
        if (at >= 0) {
            listeners.remove(at);
            handlers.remove(at);
        }
    }

    public synchronized int hostListeners() {
        return listeners.size();
    }

    /** Changes the display's refresh rate from the next vsync on. */
    public synchronized void hostRate(double hz) {
        Vsync.rate(hz);
        for (int i = 0; i < listeners.size(); i++) {
            final DisplayListener listener = listeners.get(i);
            handlers.get(i)
                    .post(
                            new Runnable() {
                                @Override
                                public void run() {
                                    listener.onDisplayChanged(Display.DEFAULT_DISPLAY);
                                }
                            });
        }
    }
}
