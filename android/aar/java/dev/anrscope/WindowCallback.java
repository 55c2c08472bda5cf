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
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.List;

/**
 * Forwards all calls, and reports input and focus. Methods added after API 17 are forwarded by reflection; they are
 * rare. On a system whose interface has methods that this class lacks, {@link #installed} is a proxy that forwards
 * those as well.
 */
final class WindowCallback implements Window.Callback, InvocationHandler {
    /** Whether this class has every method of the interface; determined once. */
    static Boolean complete;

    final Window.Callback wrapped;
    /** The callback that is set on the window. */
    final Window.Callback installed;
    /** Null until an activity is known to own the window. */
    private WeakReference<Activity> activity;
    /** An event has come through since the last check. */
    private boolean reached;

    WindowCallback(Window.Callback wrapped, Activity activity) {
        this.wrapped = wrapped;
        this.activity = activity == null ? null : new WeakReference<Activity>(activity);
        installed = isComplete() ? this : proxy();
    }

    private static boolean isComplete() {
        if (complete == null) {
            boolean all = true;
            for (Method method : Window.Callback.class.getMethods()) {
                all &= own(method) != null;
            }
            complete = all;
        }
        return complete;
    }

    /** This class's method with the same name and parameters; null if it has none. */
    private static Method own(Method method) {
        try {
            return WindowCallback.class.getDeclaredMethod(method.getName(), method.getParameterTypes());
        } catch (NoSuchMethodException later) {
            return null;
        }
    }

    private Window.Callback proxy() {
        Class<?>[] faces = {Window.Callback.class};
        return (Window.Callback) Proxy.newProxyInstance(WindowCallback.class.getClassLoader(), faces, this);
    }

    /** Handles the calls of the proxy. */
    @Override
    public Object invoke(Object proxy, Method method, Object[] values) throws Throwable {
        if (method.getDeclaringClass() == Object.class) {
            // equals, hashCode and toString: the window's callback is the proxy itself.
            return method.getName().equals("equals") ? (Object) (values[0] == proxy) : method.invoke(this, values);
        }
        try {
            Method own = own(method);
            return own == null ? method.invoke(wrapped, values) : own.invoke(this, values);
        } catch (InvocationTargetException theirs) {
            throw theirs.getCause();
        }
    }

    /** Sets the activity that owns the window. */
    void belongsTo(Activity owner) {
        if (activity == null) {
            activity = new WeakReference<Activity>(owner);
        }
    }

    /** Whether events still come through, although another callback is in front of it. */
    boolean isReached() {
        return reached;
    }

    private void received(android.view.InputEvent event) {
        reached = true;
        try {
            TouchMonitor.dispatched(event);
        } catch (Throwable fault) {
            Monitors.fault(Monitors.TOUCH, fault);
        }
    }

    @Override
    public boolean dispatchKeyEvent(KeyEvent event) {
        boolean unit = Units.begin(event);
        try {
            received(event);
            return wrapped.dispatchKeyEvent(event);
        } finally {
            if (unit) {
                Units.end();
            }
        }
    }

    @Override
    public boolean dispatchKeyShortcutEvent(KeyEvent event) {
        boolean unit = Units.begin(event);
        try {
            return wrapped.dispatchKeyShortcutEvent(event);
        } finally {
            if (unit) {
                Units.end();
            }
        }
    }

    @Override
    public boolean dispatchTouchEvent(MotionEvent event) {
        boolean unit = Units.begin(event);
        try {
            received(event);
            return wrapped.dispatchTouchEvent(event);
        } finally {
            if (unit) {
                Units.end();
            }
        }
    }

    @Override
    public boolean dispatchTrackballEvent(MotionEvent event) {
        boolean unit = Units.begin(event);
        try {
            return wrapped.dispatchTrackballEvent(event);
        } finally {
            if (unit) {
                Units.end();
            }
        }
    }

    @Override
    public boolean dispatchGenericMotionEvent(MotionEvent event) {
        boolean unit = Units.begin(event);
        try {
            return wrapped.dispatchGenericMotionEvent(event);
        } finally {
            if (unit) {
                Units.end();
            }
        }
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
        Activity of = activity == null ? null : activity.get();
        try {
            if (of != null) {
                TouchMonitor.focus(of, gained);
            }
            // A dialog takes the focus from the window below it, and gives it back.
            TouchMonitor.check();
        } catch (Throwable fault) {
            Monitors.fault(Monitors.TOUCH, fault);
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

    /**
     * API 23. Found by its number of parameters: ART of Android 5 has no such class, and would verify this one at run
     * time if the code named it.
     */
    public boolean onSearchRequested(SearchEvent event) {
        return Boolean.TRUE.equals(pass("onSearchRequested", null, event));
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

    private static Method method(String name, int parameters) throws NoSuchMethodException {
        for (Method method : Window.Callback.class.getMethods()) {
            if (method.getName().equals(name) && method.getParameterTypes().length == parameters) {
                return method;
            }
        }
        throw new NoSuchMethodException(name);
    }

    private Object pass(String name, Class<?>[] types, Object... values) {
        try {
            Method method = types == null ? method(name, values.length) : Window.Callback.class.getMethod(name, types);
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
