package dev.anrscope;

import android.app.Activity;
import android.os.Handler;
import android.os.Looper;
import android.view.View;
import android.view.ViewGroup;
import java.util.ArrayList;
import java.util.List;

/**
 * The depth and number of the views of a page that opened slowly, as Matrix 0.4 told them. Counted on main, where alone views may be looked
 * at, in a message behind the one that gave the page the focus; nothing at all for a page that was quick.
 */
final class EntryViews implements Runnable {
    /** So many are looked at: some hundred microseconds. A page of more is told with this number. */
    private static final int MOST = 5000;

    private final Activity activity;

    private EntryViews(Activity activity) {
        this.activity = activity;
    }

    /** The page has the focus. On main. */
    static void focused(Activity activity) {
        if (wanted(System.identityHashCode(activity))) {
            new Handler(Looper.getMainLooper()).post(new EntryViews(activity));
        }
    }

    @Override
    public void run() {
        try {
            count();
        } catch (Throwable theirs) {
            // Views of the app's may throw; the page is reported without their number.
        }
    }

    private void count() {
        View decor = activity.getWindow() == null ? null : activity.getWindow().peekDecorView();
        int depth = 0;
        int count = 0;
        // Level by level: however deep they are nested, nothing is on the stack.
        List<View> level = new ArrayList<View>();
        if (decor != null) {
            level.add(decor);
        }
        while (!level.isEmpty()) {
            depth++;
            List<View> below = new ArrayList<View>();
            for (int at = 0; at < level.size(); at++) {
                if (!(level.get(at) instanceof ViewGroup)) {
                    continue;
                }
                ViewGroup group = (ViewGroup) level.get(at);
                for (int child = 0; child < group.getChildCount() && count < MOST; child++) {
                    View view = group.getChildAt(child);
                    // What is GONE takes no part in the page, and nothing in it does.
                    if (view != null && view.getVisibility() != View.GONE) {
                        count++;
                        below.add(view);
                    }
                }
            }
            level = below;
        }
        counted(System.identityHashCode(activity), depth, count);
    }

    private static native boolean wanted(int activity);

    private static native void counted(int activity, int depth, int count);
}
