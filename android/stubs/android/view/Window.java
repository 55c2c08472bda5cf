package android.view;

import android.os.Handler;
import android.view.accessibility.AccessibilityEvent;

/** The methods in use, including those added in API 23 and 24. Signatures only. */
public abstract class Window {
    public interface Callback {
        boolean dispatchKeyEvent(KeyEvent event);

        boolean dispatchKeyShortcutEvent(KeyEvent event);

        boolean dispatchTouchEvent(MotionEvent event);

        boolean dispatchTrackballEvent(MotionEvent event);

        boolean dispatchGenericMotionEvent(MotionEvent event);

        boolean dispatchPopulateAccessibilityEvent(AccessibilityEvent event);

        View onCreatePanelView(int featureId);

        boolean onCreatePanelMenu(int featureId, Menu menu);

        boolean onPreparePanel(int featureId, View view, Menu menu);

        boolean onMenuOpened(int featureId, Menu menu);

        boolean onMenuItemSelected(int featureId, MenuItem item);

        void onWindowAttributesChanged(WindowManager.LayoutParams attrs);

        void onContentChanged();

        void onWindowFocusChanged(boolean hasFocus);

        void onAttachedToWindow();

        void onDetachedFromWindow();

        void onPanelClosed(int featureId, Menu menu);

        boolean onSearchRequested();

        /** API 23. */
        boolean onSearchRequested(SearchEvent searchEvent);

        ActionMode onWindowStartingActionMode(ActionMode.Callback callback);

        /** API 23. */
        ActionMode onWindowStartingActionMode(ActionMode.Callback callback, int type);

        void onActionModeStarted(ActionMode mode);

        void onActionModeFinished(ActionMode mode);
    }

    /** API 24. */
    public interface OnFrameMetricsAvailableListener {
        void onFrameMetricsAvailable(Window window, FrameMetrics frameMetrics, int dropCountSinceLastInvocation);
    }

    public final Callback getCallback() {
        return null;
    }

    public void setCallback(Callback callback) {}

    public abstract View getDecorView();

    public abstract View peekDecorView();

    /** API 24. */
    public final void addOnFrameMetricsAvailableListener(OnFrameMetricsAvailableListener listener, Handler handler) {}

    /** API 24. */
    public final void removeOnFrameMetricsAvailableListener(OnFrameMetricsAvailableListener listener) {}
}
