package android.view;

import java.util.ArrayList;

/**
 * All windows of the process, by their root views (core/java/android/view/WindowManagerGlobal.java): {@code
 * getInstance}, {@code mLock} and {@code mViews} are {@code @UnsupportedAppUsage} without a maximal target, API 21 to
 * 37; API 29 has {@code WindowInspector.getGlobalWindowViews} beside it.
 */
public final class WindowManagerGlobal {
    private static WindowManagerGlobal sDefaultWindowManager;

    private final Object mLock = new Object();
    private final ArrayList<View> mViews = new ArrayList<View>();
    private final ArrayList<ViewRootImpl> mRoots = new ArrayList<ViewRootImpl>();

    private WindowManagerGlobal() {}

    public static WindowManagerGlobal getInstance() {
        synchronized (WindowManagerGlobal.class) {
            if (sDefaultWindowManager == null) {
                sDefaultWindowManager = new WindowManagerGlobal();
            }
            return sDefaultWindowManager;
        }
    }

    /** {@code window} is null for a view that is a window by itself. */
    public ViewRootImpl addView(View view, Window window) {
        synchronized (mLock) {
            ViewRootImpl root = new ViewRootImpl(view, window);
            mViews.add(view);
            mRoots.add(root);
            return root;
        }
    }

    public void removeView(View view) {
        synchronized (mLock) {
            int at = mViews.indexOf(view);
            if (at < 0) {
                throw new IllegalArgumentException("View not attached to window manager");
            }
            mViews.remove(at);
            mRoots.remove(at).hostClose();
        }
    }
}
