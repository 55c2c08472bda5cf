package android.widget;

import android.content.Context;
import android.view.View;

/** A text (core/java/android/widget/TextView.java, all levels). */
public class TextView extends View {
    private CharSequence text = "";

    public TextView(Context context) {
        super(context);
    }

    public void setText(CharSequence text) {
        this.text = text;
    }

    public CharSequence getText() {
        return text;
    }

    public void setAllCaps(boolean caps) {}

    public void setTextIsSelectable(boolean selectable) {}
}
