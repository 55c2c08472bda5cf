package com.android.internal.policy;

import android.content.Context;
import android.view.KeyEvent;
import android.view.MotionEvent;
import android.view.ViewGroup;
import android.view.Window;

/**
 * API 24: the root of a window's views, which passes input to the window's callback first
 * (core/java/com/android/internal/policy/DecorView.java).
 */
public final class DecorView extends ViewGroup {
    private final PhoneWindow mWindow;

    DecorView(Context context, PhoneWindow window) {
        super(context);
        mWindow = window;
    }

    @Override
    public boolean dispatchTouchEvent(MotionEvent event) {
        Window.Callback callback = mWindow.getCallback();
        return callback != null ? callback.dispatchTouchEvent(event) : super.dispatchTouchEvent(event);
    }

    @Override
    public boolean dispatchKeyEvent(KeyEvent event) {
        Window.Callback callback = mWindow.getCallback();
        return callback != null ? callback.dispatchKeyEvent(event) : super.dispatchKeyEvent(event);
    }

    boolean superDispatchTouchEvent(MotionEvent event) {
        return super.dispatchTouchEvent(event);
    }

    boolean superDispatchKeyEvent(KeyEvent event) {
        return super.dispatchKeyEvent(event);
    }
}
