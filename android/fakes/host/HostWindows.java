package host;

import android.os.Build;
import android.view.Display;
import android.view.View;
import android.view.ViewGroup;
import android.view.WindowManager;
import android.view.WindowManagerGlobal;
import java.util.ArrayList;
import java.util.List;

/** A window manager for windows that are a single view. */
public final class HostWindows implements WindowManager {
    /** Whether the user allowed windows over other apps. */
    public boolean allowed = true;

    private final List<View> views = new ArrayList<View>();
    public LayoutParams last;

    public List<View> views() {
        return views;
    }

    @Override
    public void addView(View view, ViewGroup.LayoutParams params) {
        LayoutParams given = (LayoutParams) params;
        int type = Build.VERSION.SDK_INT >= 26 ? LayoutParams.TYPE_APPLICATION_OVERLAY : LayoutParams.TYPE_PHONE;
        if (!allowed || given.type != type) {
            throw new BadTokenException("permission denied for window type " + given.type);
        }
        last = given;
        views.add(view);
        WindowManagerGlobal.getInstance().addView(view, null);
        view.invalidate();
    }

    @Override
    public void updateViewLayout(View view, ViewGroup.LayoutParams params) {
        view.invalidate();
    }

    @Override
    public void removeView(View view) {
        int at = views.indexOf(view);
        if (at < 0) {
            throw new IllegalArgumentException("View not attached to window manager");
        }
        views.remove(at);
        WindowManagerGlobal.getInstance().removeView(view);
    }

    @Override
    public void removeViewImmediate(View view) {
        removeView(view);
    }

    @Override
    public Display getDefaultDisplay() {
        return new Display();
    }
}
