package dev.anrscope;

import android.app.Activity;
import android.os.Handler;
import android.os.Looper;
import android.view.View;
import android.view.ViewGroup;
import java.util.ArrayList;
import java.util.List;

/**
 * Counts the views of a page that opened slowly, and their depth, as Matrix 0.4 reported them. Runs on main, because
 * only main may access views, in a message after the one that gave the page the focus. Does nothing for a page that
 * opened quickly.
 */
final class EntryViews implements Runnable {
    /**
     * Maximum number of views counted, which takes some hundred microseconds. A page with more is reported with this
     * number.
     */
    private static final int MAX_VIEWS = 5000;

    private final Activity activity;

    private EntryViews(Activity activity) {
        this.activity = activity;
    }

    /** The page got the focus. On main. */
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
            // The app's views may throw; then the page is reported without counts.
        }
    }

    private void count() {
        View decor = activity.getWindow() == null ? null : activity.getWindow().peekDecorView();
        int depth = 0;
        int count = 0;
        // Breadth first, so that deep nesting cannot overflow the stack.
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
                for (int child = 0; child < group.getChildCount() && count < MAX_VIEWS; child++) {
                    View view = group.getChildAt(child);
                    // Views that are GONE, and their children, are not part of the page.
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
