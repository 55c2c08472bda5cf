package dev.anrscope;

import android.os.Build;
import android.view.View;
import android.view.Window;
import java.lang.reflect.Field;
import java.util.Collections;
import java.util.List;

/**
 * Root views of the process's windows: from API 29 on by the public {@code android.view.inspector.WindowInspector},
 * before that by {@code WindowManagerGlobal.mViews} (AOSP WindowManagerGlobal.java, API 21 to 34: UnsupportedAppUsage
 * without a limit), which is only read.
 */
final class RootViews {
    /**
     * {@code DecorView}'s window: a field that an app may read (AOSP DecorView.java, API 24 to 34: UnsupportedAppUsage
     * without a limit; an inner class of PhoneWindow before).
     */
    private static Field field;

    /** The class that declares the field. */
    private static Class<?> decor;

    private RootViews() {}

    /** The root views of all windows. Empty where they cannot be read. */
    static List<?> all() throws ReflectiveOperationException {
        if (Build.VERSION.SDK_INT >= 29) {
            try {
                Class<?> inspector = Class.forName("android.view.inspector.WindowInspector");
                return (List<?>) inspector.getMethod("getGlobalWindowViews").invoke(null);
            } catch (ClassNotFoundException removed) {
                // Fall back to the field.
            }
        }
        Class<?> type = Class.forName("android.view.WindowManagerGlobal");
        Field views = type.getDeclaredField("mViews");
        views.setAccessible(true);
        Object global = type.getMethod("getInstance").invoke(null);
        Object list = views.get(global);
        return list instanceof List ? (List<?>) list : Collections.emptyList();
    }

    /** As {@link #all}, as a copy. */
    static View[] views() throws ReflectiveOperationException {
        Object[] all = all().toArray();
        View[] views = new View[all.length];
        int count = 0;
        for (Object view : all) {
            if (view instanceof View) {
                views[count++] = (View) view;
            }
        }
        return java.util.Arrays.copyOf(views, count);
    }

    /** The window whose decor view this is; null for a view that is a window by itself, such as a popup's. */
    static Window window(View root) throws ReflectiveOperationException {
        Class<?> type = root.getClass();
        while (type != null && !type.getName().endsWith("DecorView")) {
            type = type.getSuperclass();
        }
        if (type == null || type.getName().startsWith("android.widget.")) {
            return null;
        }
        if (decor != type) {
            Field found = type.getDeclaredField(type.getName().indexOf('$') < 0 ? "mWindow" : "this$0");
            found.setAccessible(true);
            field = found;
            decor = type;
        }
        Object window = field.get(root);
        return window instanceof Window ? (Window) window : null;
    }
}
