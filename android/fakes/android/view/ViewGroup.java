package android.view;

import android.content.Context;
import android.graphics.Canvas;
import java.util.ArrayList;
import java.util.List;

public abstract class ViewGroup extends View {
    private final List<View> children = new ArrayList<View>();

    public ViewGroup(Context context) {
        super(context);
    }

    public void addView(View child) {
        children.add(child);
    }

    public int getChildCount() {
        return children.size();
    }

    public View getChildAt(int index) {
        return index < 0 || index >= children.size() ? null : children.get(index);
    }

    /** The topmost child that handles it gets it, or else the group. */
    @Override
    public boolean dispatchTouchEvent(MotionEvent event) {
        for (int i = children.size() - 1; i >= 0; i--) {
            if (children.get(i).dispatchTouchEvent(event)) {
                return true;
            }
        }
        return super.dispatchTouchEvent(event);
    }

    @Override
    public boolean dispatchKeyEvent(KeyEvent event) {
        for (int i = children.size() - 1; i >= 0; i--) {
            if (children.get(i).dispatchKeyEvent(event)) {
                return true;
            }
        }
        return super.dispatchKeyEvent(event);
    }

    @Override
    public void draw(Canvas canvas) {
        super.draw(canvas);
        for (View child : children) {
            if (child.getVisibility() == VISIBLE) {
                child.draw(canvas);
            }
        }
    }

    public static class LayoutParams {
        public static final int MATCH_PARENT = -1;
        public static final int WRAP_CONTENT = -2;

        public int width;
        public int height;

        public LayoutParams(int width, int height) {
            this.width = width;
            this.height = height;
        }
    }
}
