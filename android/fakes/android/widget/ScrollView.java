package android.widget;

import android.content.Context;
import android.view.View;
import android.view.ViewGroup;

/** One child that scrolls (core/java/android/widget/ScrollView.java, all levels). */
public class ScrollView extends ViewGroup {
    public ScrollView(Context context) {
        super(context);
    }

    @Override
    public void addView(View child) {
        if (getChildCount() > 0) {
            throw new IllegalStateException("ScrollView can host only one direct child");
        }
        super.addView(child);
    }
}
