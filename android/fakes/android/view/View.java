package android.view;

import android.content.Context;
import android.graphics.Canvas;
import android.os.Binder;
import android.os.Handler;
import android.os.IBinder;
import android.os.Looper;

public class View {
    public static final int VISIBLE = 0;
    public static final int INVISIBLE = 4;
    public static final int GONE = 8;

    /** API 1. */
    public interface OnClickListener {
        void onClick(View view);
    }

    private OnClickListener onClick;
    private final Context context;
    private final ViewTreeObserver observer = new ViewTreeObserver();
    private int visibility;
    private int measuredWidth;
    private int measuredHeight;
    private int width;
    private int height;
    ViewRootImpl root;
    /** App code that runs in these parts of a frame. */
    public Runnable hostOnMeasure;
    public Runnable hostOnDraw;
    /** App code that handles input; returns whether it did. */
    public Runnable hostOnTouch;

    public Runnable hostOnKey;

    public View(Context context) {
        this.context = context;
    }

    public void setOnClickListener(OnClickListener listener) {
        onClick = listener;
    }

    public boolean performClick() {
        if (onClick == null) {
            return false;
        }
        onClick.onClick(this);
        return true;
    }

    public void setFitsSystemWindows(boolean fits) {}

    public final Context getContext() {
        return context;
    }

    private static final IBinder TOKEN = new Binder();

    public ViewTreeObserver getViewTreeObserver() {
        return observer;
    }

    public void setVisibility(int visibility) {
        this.visibility = visibility;
    }

    public int getVisibility() {
        return visibility;
    }

    /** The token of the window that it is attached to, else null (AOSP {@code View.java}, all levels). */
    public IBinder getWindowToken() {
        return root == null ? null : TOKEN;
    }

    public final void measure(int widthSpec, int heightSpec) {
        onMeasure(widthSpec, heightSpec);
    }

    protected void onMeasure(int widthSpec, int heightSpec) {
        if (hostOnMeasure != null) {
            hostOnMeasure.run();
        }
        setMeasuredDimension(1080, 1920);
    }

    protected final void setMeasuredDimension(int width, int height) {
        measuredWidth = width;
        measuredHeight = height;
    }

    public final int getMeasuredWidth() {
        return measuredWidth;
    }

    public final int getMeasuredHeight() {
        return measuredHeight;
    }

    public void layout(int left, int top, int right, int bottom) {
        width = right - left;
        height = bottom - top;
    }

    public final int getWidth() {
        return width;
    }

    public final int getHeight() {
        return height;
    }

    public void draw(Canvas canvas) {
        onDraw(canvas);
    }

    protected void onDraw(Canvas canvas) {
        if (hostOnDraw != null) {
            hostOnDraw.run();
        }
    }

    /** Dispatches a pointer's event at the root of a window's views. */
    public final boolean dispatchPointerEvent(MotionEvent event) {
        return dispatchTouchEvent(event);
    }

    public boolean dispatchTouchEvent(MotionEvent event) {
        return onTouchEvent(event);
    }

    public boolean onTouchEvent(MotionEvent event) {
        if (hostOnTouch != null) {
            hostOnTouch.run();
        }
        return hostOnTouch != null;
    }

    public boolean dispatchKeyEvent(KeyEvent event) {
        if (hostOnKey != null) {
            hostOnKey.run();
        }
        return hostOnKey != null;
    }

    public void invalidate() {
        if (root != null) {
            root.schedule();
        }
    }

    /**
     * For the root view of a window: from an invalidate in it until it is drawn (core/java/android/view/ViewGroup.java,
     * onDescendantInvalidated, API 26).
     */
    public boolean isDirty() {
        return root != null && root.isScheduled();
    }

    public boolean isLayoutRequested() {
        return isDirty();
    }

    public void requestLayout() {
        invalidate();
    }

    public void postInvalidate() {
        new Handler(Looper.getMainLooper())
                .post(
                        new Runnable() {
                            @Override
                            public void run() {
                                invalidate();
                            }
                        });
    }
}
