package android.view;

import java.util.concurrent.CopyOnWriteArrayList;

public final class ViewTreeObserver {
    private final CopyOnWriteArrayList<OnPreDrawListener> preDraw = new CopyOnWriteArrayList<OnPreDrawListener>();
    private final CopyOnWriteArrayList<OnDrawListener> draw = new CopyOnWriteArrayList<OnDrawListener>();

    public interface OnPreDrawListener {
        boolean onPreDraw();
    }

    public interface OnDrawListener {
        void onDraw();
    }

    ViewTreeObserver() {}

    public boolean isAlive() {
        return true;
    }

    public void addOnPreDrawListener(OnPreDrawListener listener) {
        preDraw.add(listener);
    }

    public void removeOnPreDrawListener(OnPreDrawListener listener) {
        preDraw.remove(listener);
    }

    public void addOnDrawListener(OnDrawListener listener) {
        draw.add(listener);
    }

    public void removeOnDrawListener(OnDrawListener listener) {
        draw.remove(listener);
    }

    /** Whether this frame is to be drawn. */
    public boolean dispatchOnPreDraw() {
        boolean cancel = false;
        for (OnPreDrawListener listener : preDraw) {
            cancel |= !listener.onPreDraw();
        }
        return !cancel;
    }

    public void dispatchOnDraw() {
        for (OnDrawListener listener : draw) {
            listener.onDraw();
        }
    }

    /** Listeners of both kinds. */
    public int hostListeners() {
        return preDraw.size() + draw.size();
    }
}
