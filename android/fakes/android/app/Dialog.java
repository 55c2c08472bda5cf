package android.app;

import android.content.Context;
import android.view.ActionMode;
import android.view.KeyEvent;
import android.view.Menu;
import android.view.MenuItem;
import android.view.MotionEvent;
import android.view.SearchEvent;
import android.view.View;
import android.view.Window;
import android.view.WindowManager;
import android.view.accessibility.AccessibilityEvent;
import host.HostWindow;

/**
 * A window of its own without an activity, whose callback is the dialog (core/java/android/app/Dialog.java, all
 * levels).
 */
public class Dialog implements Window.Callback {
    private final Context context;
    private HostWindow window;

    public Dialog(Context context) {
        this.context = context;
    }

    /** Shows the window, which receives input from now on. */
    public void show() {
        window = new HostWindow(context);
        window.setCallback(this);
        window.getDecorView().invalidate();
    }

    public void dismiss() {
        window.close();
        window = null;
    }

    public Window getWindow() {
        return window;
    }

    public HostWindow hostWindow() {
        return window;
    }

    @Override
    public boolean dispatchKeyEvent(KeyEvent event) {
        return window.superDispatchKeyEvent(event);
    }

    @Override
    public boolean dispatchKeyShortcutEvent(KeyEvent event) {
        return false;
    }

    @Override
    public boolean dispatchTouchEvent(MotionEvent event) {
        return window.superDispatchTouchEvent(event) || onTouchEvent(event);
    }

    public boolean onTouchEvent(MotionEvent event) {
        return false;
    }

    @Override
    public boolean dispatchTrackballEvent(MotionEvent event) {
        return false;
    }

    @Override
    public boolean dispatchGenericMotionEvent(MotionEvent event) {
        return false;
    }

    @Override
    public boolean dispatchPopulateAccessibilityEvent(AccessibilityEvent event) {
        return false;
    }

    @Override
    public View onCreatePanelView(int feature) {
        return null;
    }

    @Override
    public boolean onCreatePanelMenu(int feature, Menu menu) {
        return false;
    }

    @Override
    public boolean onPreparePanel(int feature, View view, Menu menu) {
        return true;
    }

    @Override
    public boolean onMenuOpened(int feature, Menu menu) {
        return true;
    }

    @Override
    public boolean onMenuItemSelected(int feature, MenuItem item) {
        return false;
    }

    @Override
    public void onWindowAttributesChanged(WindowManager.LayoutParams attributes) {}

    @Override
    public void onContentChanged() {}

    @Override
    public void onWindowFocusChanged(boolean hasFocus) {}

    @Override
    public void onAttachedToWindow() {}

    @Override
    public void onDetachedFromWindow() {}

    @Override
    public void onPanelClosed(int feature, Menu menu) {}

    @Override
    public boolean onSearchRequested() {
        return false;
    }

    @Override
    public boolean onSearchRequested(SearchEvent event) {
        return false;
    }

    @Override
    public ActionMode onWindowStartingActionMode(ActionMode.Callback callback) {
        return null;
    }

    @Override
    public ActionMode onWindowStartingActionMode(ActionMode.Callback callback, int type) {
        return null;
    }

    @Override
    public void onActionModeStarted(ActionMode mode) {}

    @Override
    public void onActionModeFinished(ActionMode mode) {}
}
