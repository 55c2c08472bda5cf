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
