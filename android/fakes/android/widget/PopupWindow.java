package android.widget;

import android.view.View;
import android.view.ViewGroup;
import android.view.ViewRootImpl;
import android.view.WindowManagerGlobal;

/**
 * A window that is a bare view: no {@code Window} and no callback (core/java/android/widget/PopupWindow.java, all
 * levels).
 */
public class PopupWindow {
    private final PopupDecorView decor;
    private ViewRootImpl root;

    public PopupWindow(View content) {
        decor = new PopupDecorView(content);
    }

    /** API 23; up to 22 a PopupViewContainer. */
    private static final class PopupDecorView extends ViewGroup {
        PopupDecorView(View content) {
            super(content.getContext());
            addView(content);
        }
    }

    public void showAtLocation(View parent, int gravity, int x, int y) {
        root = WindowManagerGlobal.getInstance().addView(decor, null);
        decor.invalidate();
    }

    public void dismiss() {
        WindowManagerGlobal.getInstance().removeView(decor);
        root = null;
    }

    /** Where its input arrives. */
    public ViewRootImpl hostRoot() {
        return root;
    }
}
