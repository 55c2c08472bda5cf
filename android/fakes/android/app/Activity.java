package android.app;

import android.content.Context;
import android.os.Build;
import android.os.Bundle;
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
import host.HostApp;
import host.HostWindow;

/** {@link ActivityThread} calls its methods; each notifies the application's callbacks, as AOSP's does. */
public class Activity extends Context implements Window.Callback {
    private Application application;
    private HostWindow window;
    private android.content.Intent intent = new android.content.Intent("android.intent.action.MAIN");
    private CharSequence title = "";

    void attach(Application application) {
        this.application = application;
        window = new HostWindow(this);
        window.setCallback(this);
    }

    public final Application getApplication() {
        return application;
    }

    /** What it is launched with. */
    public void hostIntent(android.content.Intent intent) {
        this.intent = intent;
    }

    public android.content.Intent getIntent() {
        return intent;
    }

    public void setTitle(CharSequence title) {
        this.title = title;
    }

    public CharSequence hostTitle() {
        return title;
    }

    public void setContentView(View view) {
        ((android.view.ViewGroup) window.getDecorView()).addView(view);
    }

    public boolean isFinishing() {
        return false;
    }

    /** At once on main, else as a message (core/java/android/app/Activity.java, all levels). */
    public final void runOnUiThread(Runnable work) {
        android.os.Looper main = android.os.Looper.getMainLooper();
        if (android.os.Looper.myLooper() == main) {
            work.run();
        } else {
            new android.os.Handler(main).post(work);
        }
    }

    public Window getWindow() {
        return window;
    }

    public HostWindow hostWindow() {
        return window;
    }

    @Override
    public Context getApplicationContext() {
        return application;
    }

    @Override
    public Object getSystemService(String name) {
        return HostApp.SERVICES.get(name);
    }

    final void performCreate() {
        if (Build.VERSION.SDK_INT >= 29) {
            for (Application.ActivityLifecycleCallbacks callback : application.all()) {
                callback.onActivityPreCreated(this, null);
            }
        }
        onCreate(null);
    }

    protected void onCreate(Bundle state) {
        for (Application.ActivityLifecycleCallbacks callback : application.all()) {
            callback.onActivityCreated(this, state);
        }
    }

    protected void onStart() {
        for (Application.ActivityLifecycleCallbacks callback : application.all()) {
            callback.onActivityStarted(this);
        }
    }

    protected void onResume() {
        for (Application.ActivityLifecycleCallbacks callback : application.all()) {
            callback.onActivityResumed(this);
        }
    }

    protected void onPause() {
        for (Application.ActivityLifecycleCallbacks callback : application.all()) {
            callback.onActivityPaused(this);
        }
    }

    protected void onStop() {
        for (Application.ActivityLifecycleCallbacks callback : application.all()) {
            callback.onActivityStopped(this);
        }
    }

    protected void onDestroy() {
        for (Application.ActivityLifecycleCallbacks callback : application.all()) {
            callback.onActivityDestroyed(this);
        }
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
        return true;
    }

    @Override
    public boolean onSearchRequested(SearchEvent event) {
        return event != null;
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
