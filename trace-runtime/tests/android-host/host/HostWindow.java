package host;

import android.content.Context;
import android.view.View;
import android.view.ViewGroup;
import android.view.ViewRootImpl;
import android.view.Window;

/** A window whose decor is one view, or a group to which a case adds others. */
public final class HostWindow extends Window {
    private final View decor;
    private final ViewRootImpl root;

    public HostWindow(Context context) {
        this(new ViewGroup(context) {});
    }

    public HostWindow(View decor) {
        this.decor = decor;
        root = new ViewRootImpl(decor, this);
    }

    @Override
    public View getDecorView() {
        return decor;
    }

    @Override
    public View peekDecorView() {
        return decor;
    }

    public ViewRootImpl root() {
        return root;
    }
}
