package dev.anrscope;

import android.app.Activity;
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
import java.lang.ref.WeakReference;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;

/**
 * Passes everything on, and tells of input and focus. The methods that came after API 17 are passed on by name: they are rare.
 */
final class WindowCallback implements Window.Callback {
    final Window.Callback wrapped;
    private final WeakReference<Activity> activity;
    /** An event came through since it was last asked. */
    private boolean asked;

    WindowCallback(Window.Callback wrapped, Activity activity) {
        this.wrapped = wrapped;
        this.activity = new WeakReference<Activity>(activity);
    }

    /** Whether events still come this way, though another callback stands before it. */
    boolean isAsked() {
        return asked;
    }

    private void told(android.view.InputEvent event) {
        asked = true;
        TouchMonitor.dispatched(event);
    }

    @Override
    public boolean dispatchKeyEvent(KeyEvent event) {
        told(event);
        return wrapped.dispatchKeyEvent(event);
    }

    @Override
    public boolean dispatchKeyShortcutEvent(KeyEvent event) {
        return wrapped.dispatchKeyShortcutEvent(event);
    }

    @Override
    public boolean dispatchTouchEvent(MotionEvent event) {
        told(event);
        return wrapped.dispatchTouchEvent(event);
    }

    @Override
    public boolean dispatchTrackballEvent(MotionEvent event) {
        return wrapped.dispatchTrackballEvent(event);
    }

    @Override
    public boolean dispatchGenericMotionEvent(MotionEvent event) {
        return wrapped.dispatchGenericMotionEvent(event);
    }

    @Override
    public boolean dispatchPopulateAccessibilityEvent(AccessibilityEvent event) {
        return wrapped.dispatchPopulateAccessibilityEvent(event);
    }

    @Override
    public View onCreatePanelView(int feature) {
        return wrapped.onCreatePanelView(feature);
    }

    @Override
    public boolean onCreatePanelMenu(int feature, Menu menu) {
        return wrapped.onCreatePanelMenu(feature, menu);
    }

    @Override
    public boolean onPreparePanel(int feature, View view, Menu menu) {
        return wrapped.onPreparePanel(feature, view, menu);
    }

    @Override
    public boolean onMenuOpened(int feature, Menu menu) {
        return wrapped.onMenuOpened(feature, menu);
    }

    @Override
    public boolean onMenuItemSelected(int feature, MenuItem item) {
        return wrapped.onMenuItemSelected(feature, item);
    }

    @Override
    public void onWindowAttributesChanged(WindowManager.LayoutParams attributes) {
        wrapped.onWindowAttributesChanged(attributes);
    }

    @Override
    public void onContentChanged() {
        wrapped.onContentChanged();
    }

    @Override
    public void onWindowFocusChanged(boolean gained) {
        Activity of = activity.get();
        if (of != null) {
            TouchMonitor.focus(of, gained);
        }
        wrapped.onWindowFocusChanged(gained);
    }

    @Override
    public void onAttachedToWindow() {
        wrapped.onAttachedToWindow();
    }

    @Override
    public void onDetachedFromWindow() {
        wrapped.onDetachedFromWindow();
    }

    @Override
    public void onPanelClosed(int feature, Menu menu) {
        wrapped.onPanelClosed(feature, menu);
    }

    @Override
    public boolean onSearchRequested() {
        return wrapped.onSearchRequested();
    }

    @Override
    public ActionMode onWindowStartingActionMode(ActionMode.Callback callback) {
        return wrapped.onWindowStartingActionMode(callback);
    }

    @Override
    public void onActionModeStarted(ActionMode mode) {
        wrapped.onActionModeStarted(mode);
    }

    @Override
    public void onActionModeFinished(ActionMode mode) {
        wrapped.onActionModeFinished(mode);
    }

    /** API 23. */
    public boolean onSearchRequested(SearchEvent event) {
        return Boolean.TRUE.equals(pass("onSearchRequested", new Class<?>[] {SearchEvent.class}, event));
    }

    /** API 23. */
    public ActionMode onWindowStartingActionMode(ActionMode.Callback callback, int type) {
        Class<?>[] types = {ActionMode.Callback.class, int.class};
        return (ActionMode) pass("onWindowStartingActionMode", types, callback, type);
    }

    /** API 24. */
    public void onProvideKeyboardShortcuts(List<?> groups, Menu menu, int device) {
        pass("onProvideKeyboardShortcuts", new Class<?>[] {List.class, Menu.class, int.class}, groups, menu, device);
    }

    /** API 26. */
    public void onPointerCaptureChanged(boolean captured) {
        pass("onPointerCaptureChanged", new Class<?>[] {boolean.class}, captured);
    }

    private Object pass(String name, Class<?>[] types, Object... values) {
        try {
            Method method = Window.Callback.class.getMethod(name, types);
            return method.invoke(wrapped, values);
        } catch (InvocationTargetException theirs) {
            if (theirs.getCause() instanceof RuntimeException) {
                throw (RuntimeException) theirs.getCause();
            }
            if (theirs.getCause() instanceof Error) {
                throw (Error) theirs.getCause();
            }
            return null;
        } catch (ReflectiveOperationException older) {
            return null;
        }
    }
}
