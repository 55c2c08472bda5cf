package com.android.internal.policy;

import android.content.Context;
import android.os.Build;
import android.view.KeyEvent;
import android.view.MotionEvent;
import android.view.View;
import android.view.ViewGroup;
import android.view.Window;

/** The window of activities and dialogs (core/java/com/android/internal/policy/PhoneWindow.java; in the package {@code policy.impl} at 21 and 22). */
public abstract class PhoneWindow extends Window {
    private final ViewGroup mDecor;

    protected PhoneWindow(Context context) {
        mDecor = Build.VERSION.SDK_INT >= 24 ? new com.android.internal.policy.DecorView(context, this) : new DecorView(context);
    }

    @Override
    public final View getDecorView() {
        return mDecor;
    }

    @Override
    public final View peekDecorView() {
        return mDecor;
    }

    @Override
    public boolean superDispatchTouchEvent(MotionEvent event) {
        return mDecor instanceof DecorView
                ? ((DecorView) mDecor).superDispatchTouchEvent(event)
                : ((com.android.internal.policy.DecorView) mDecor).superDispatchTouchEvent(event);
    }

    @Override
    public boolean superDispatchKeyEvent(KeyEvent event) {
        return mDecor instanceof DecorView
                ? ((DecorView) mDecor).superDispatchKeyEvent(event)
                : ((com.android.internal.policy.DecorView) mDecor).superDispatchKeyEvent(event);
    }

    /** Below API 24: the window is its {@code this$0}. */
    private final class DecorView extends ViewGroup {
        DecorView(Context context) {
            super(context);
        }

        @Override
        public boolean dispatchTouchEvent(MotionEvent event) {
            Window.Callback callback = getCallback();
            return callback != null ? callback.dispatchTouchEvent(event) : super.dispatchTouchEvent(event);
        }

        @Override
        public boolean dispatchKeyEvent(KeyEvent event) {
            Window.Callback callback = getCallback();
            return callback != null ? callback.dispatchKeyEvent(event) : super.dispatchKeyEvent(event);
        }

        boolean superDispatchTouchEvent(MotionEvent event) {
            return super.dispatchTouchEvent(event);
        }

        boolean superDispatchKeyEvent(KeyEvent event) {
            return super.dispatchKeyEvent(event);
        }
    }
}
