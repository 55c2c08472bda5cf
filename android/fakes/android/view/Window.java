package android.view;

import android.os.Handler;
import android.view.accessibility.AccessibilityEvent;
import java.util.ArrayList;
import java.util.List;

/** A window with one tree of views, drawn by {@link ViewRootImpl}. */
public abstract class Window {
    private Callback mCallback;
    private final List<Observer> observers = new ArrayList<Observer>();

    public interface Callback {
        boolean dispatchKeyEvent(KeyEvent event);

        boolean dispatchKeyShortcutEvent(KeyEvent event);

        boolean dispatchTouchEvent(MotionEvent event);

        boolean dispatchTrackballEvent(MotionEvent event);

        boolean dispatchGenericMotionEvent(MotionEvent event);

        boolean dispatchPopulateAccessibilityEvent(AccessibilityEvent event);

        View onCreatePanelView(int feature);

        boolean onCreatePanelMenu(int feature, Menu menu);

        boolean onPreparePanel(int feature, View view, Menu menu);

        boolean onMenuOpened(int feature, Menu menu);

        boolean onMenuItemSelected(int feature, MenuItem item);

        void onWindowAttributesChanged(WindowManager.LayoutParams attributes);

        void onContentChanged();

        void onWindowFocusChanged(boolean hasFocus);

        void onAttachedToWindow();

        void onDetachedFromWindow();

        void onPanelClosed(int feature, Menu menu);

        boolean onSearchRequested();

        /** API 23. */
        boolean onSearchRequested(SearchEvent event);

        ActionMode onWindowStartingActionMode(ActionMode.Callback callback);

        /** API 23. */
        ActionMode onWindowStartingActionMode(ActionMode.Callback callback, int type);

        void onActionModeStarted(ActionMode mode);

        void onActionModeFinished(ActionMode mode);

        /** API 24. */
        default void onProvideKeyboardShortcuts(List<?> groups, Menu menu, int device) {}

        /** API 26. */
        default void onPointerCaptureChanged(boolean captured) {}
    }

    /** API 24. */
    public interface OnFrameMetricsAvailableListener {
        void onFrameMetricsAvailable(Window window, FrameMetrics metrics, int dropCountSinceLastInvocation);
    }

    private static final class Observer {
        final OnFrameMetricsAvailableListener listener;
        final Handler handler;
        /** Delivered and not yet taken by the handler. */
        int waiting;
        /** Dropped for lack of space since the listener's last call. */
        int dropped;

        Observer(OnFrameMetricsAvailableListener listener, Handler handler) {
            this.listener = listener;
            this.handler = handler;
        }
    }

    public void setCallback(Callback callback) {
        mCallback = callback;
    }

    public final Callback getCallback() {
        return mCallback;
    }

    public abstract View getDecorView();

    public abstract View peekDecorView();

    /** Delivers the event past the callback, to the views, as a callback does with an event that it does not handle. */
    public abstract boolean superDispatchTouchEvent(MotionEvent event);

    public abstract boolean superDispatchKeyEvent(KeyEvent event);

    public final void addOnFrameMetricsAvailableListener(OnFrameMetricsAvailableListener listener, Handler handler) {
        if (android.os.Build.VERSION.SDK_INT < 24) {
            throw new NoSuchMethodError("addOnFrameMetricsAvailableListener");
        }
        if (listener == null) {
            throw new NullPointerException("listener cannot be null");
        }
        synchronized (observers) {
            observers.add(new Observer(listener, handler));
        }
    }

    public final void removeOnFrameMetricsAvailableListener(OnFrameMetricsAvailableListener listener) {
        if (listener == null) {
            throw new NullPointerException("listener cannot be null");
        }
        synchronized (observers) {
            for (int i = 0; i < observers.size(); i++) {
                if (observers.get(i).listener == listener) {
                    observers.remove(i);
                    return;
                }
            }
            throw new IllegalArgumentException("attempt to remove OnFrameMetricsAvailableListener that was never added");
        }
    }

    /** Number of listeners. */
    public int hostObservers() {
        synchronized (observers) {
            return observers.size();
        }
    }

    /**
     * How many frames wait for a listener's handler at most: 3 on Android (libs/hwui HardwareRendererObserver.h,
     * kRingSize, API 30).
     */
    public int hostRing = Integer.MAX_VALUE;
    /** Number of dropped frames. */
    public int hostDropped;

    /**
     * A frame of this window was shown: each listener is called on its handler. A frame that finds no room is dropped;
     * the listener's next call says how many were (HardwareRendererObserver.cpp, mDroppedReports).
     */
    public void hostShown(final FrameMetrics metrics) {
        Observer[] all;
        synchronized (observers) {
            all = observers.toArray(new Observer[0]);
        }
        for (final Observer observer : all) {
            final int dropped;
            synchronized (observer) {
                if (observer.waiting >= hostRing) {
                    observer.dropped++;
                    hostDropped++;
                    continue;
                }
                observer.waiting++;
                dropped = observer.dropped;
                observer.dropped = 0;
            }
            observer.handler.post(
                    new Runnable() {
                        @Override
                        public void run() {
                            synchronized (observer) {
                                observer.waiting--;
                            }
                            observer.listener.onFrameMetricsAvailable(Window.this, metrics, dropped);
                        }
                    });
        }
    }
}
