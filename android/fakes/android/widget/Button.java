package android.widget;

import android.content.Context;

/** A text to tap (core/java/android/widget/Button.java, all levels). */
public class Button extends TextView {
    public Button(Context context) {
        super(context);
    }
}
