package host;

import android.content.Context;
import android.view.ViewRootImpl;
import android.view.WindowManagerGlobal;
import com.android.internal.policy.PhoneWindow;

/** A window whose decor view is a group, to which a case adds views. */
public final class HostWindow extends PhoneWindow {
    private final ViewRootImpl root;

    public HostWindow(Context context) {
        super(context);
        root = WindowManagerGlobal.getInstance().addView(getDecorView(), this);
    }

    public ViewRootImpl root() {
        return root;
    }

    /** The window is gone. */
    public void close() {
        WindowManagerGlobal.getInstance().removeView(getDecorView());
    }
}
