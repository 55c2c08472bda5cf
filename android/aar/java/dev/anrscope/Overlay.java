package dev.anrscope;

import android.content.Context;
import android.graphics.Canvas;
import android.graphics.DashPathEffect;
import android.graphics.Paint;
import android.graphics.PixelFormat;
import android.hardware.display.DisplayManager;
import android.os.Build;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import android.os.SystemClock;
import android.view.Display;
import android.view.Gravity;
import android.view.View;
import android.view.WindowManager;

/**
 * A small overlay window that shows the frame rate. The library computes its contents, the frames thread fetches them,
 * and main only draws.
 */
final class Overlay implements Handler.Callback {
    private static final long UPDATE_INTERVAL_MS = 200;

    /** {@code WindowManager.LayoutParams.TYPE_APPLICATION_OVERLAY} (API 26). */
    private static final int TYPE_OVERLAY = 2038;

    private static final int BARS = 50;
    /** Index of the first value of each kind. */
    private static final int COUNTS = 1;

    private static final int SHARES = 9;
    private static final int MEANS = 17;
    private static final int BAR = 19;
    private static final int COLOUR = BAR + BARS;
    private static final int LEVEL = COLOUR + BARS;
    private static final int NUMBERS = LEVEL + 4;

    private static Overlay only;

    private final WindowManager windows;
    private final Handler handler;
    private final Panel panel;
    private boolean over;

    private Overlay(Context context, Looper frames) {
        windows = (WindowManager) context.getSystemService(Context.WINDOW_SERVICE);
        handler = new Handler(frames, this);
        panel = new Panel(context);
    }

    /** Shows the overlay; on main. Does nothing without the permission for such windows. */
    static void show(Context context, Looper frames) {
        if (only != null) {
            return;
        }
        Overlay overlay;
        try {
            overlay = new Overlay(forWindows(context), frames);
        } catch (Throwable refused) {
            notice("no overlay: this system makes no view for the app's context (" + refused.getClass().getName() + ")");
            return;
        }
        try {
            overlay.windows.addView(overlay.panel, overlay.place());
        } catch (Throwable refused) {
            notice("no overlay: the system allows this app no window over others (SYSTEM_ALERT_WINDOW)");
            return;
        }
        only = overlay;
        shown();
        overlay.handler.sendEmptyMessageDelayed(0, UPDATE_INTERVAL_MS);
    }

    /**
     * The context for such a window. From API 30 on a context other than an activity's must be created for it: with the
     * application's, StrictMode reports an incorrect use (AOSP Context.getSystemService, ContextImpl, API 30).
     */
    private static Context forWindows(Context context) {
        if (Build.VERSION.SDK_INT < 30) {
            return context;
        }
        try {
            DisplayManager displays = (DisplayManager) context.getSystemService(Context.DISPLAY_SERVICE);
            Context display = context.createDisplayContext(displays.getDisplay(Display.DEFAULT_DISPLAY));
            Object made =
                    Context.class
                            .getMethod("createWindowContext", int.class, Bundle.class)
                            .invoke(display, TYPE_OVERLAY, null);
            return made == null ? context : (Context) made;
        } catch (Throwable none) {
            return context;
        }
    }

    /** Hides the overlay; on main. */
    static void hide() {
        Overlay overlay = only;
        if (overlay == null) {
            return;
        }
        only = null;
        synchronized (overlay) {
            overlay.over = true;
        }
        hidden();
        try {
            overlay.windows.removeViewImmediate(overlay.panel);
        } catch (Throwable gone) {
            // The window is already gone.
        }
    }

    static boolean isShown() {
        return only != null;
    }

    private WindowManager.LayoutParams place() {
        WindowManager.LayoutParams place =
                new WindowManager.LayoutParams(
                        Math.round(Panel.WIDTH * panel.scale),
                        Math.round(Panel.HEIGHT * panel.scale),
                        Build.VERSION.SDK_INT >= 26 ? TYPE_OVERLAY : WindowManager.LayoutParams.TYPE_PHONE,
                        WindowManager.LayoutParams.FLAG_NOT_FOCUSABLE | WindowManager.LayoutParams.FLAG_NOT_TOUCHABLE,
                        PixelFormat.TRANSLUCENT);
        place.gravity = Gravity.TOP | Gravity.LEFT;
        return place;
    }

    /** On the frames thread. */
    @Override
    public boolean handleMessage(Message message) {
        // One clock value for both: an update that is a millisecond early changes nothing, and the next one would come
        // 200 ms later.
        long now = SystemClock.uptimeMillis();
        synchronized (this) {
            if (over) {
                return true;
            }
            handler.sendMessageAtTime(handler.obtainMessage(0), now + UPDATE_INTERVAL_MS);
        }
        int[] numbers = new int[NUMBERS];
        try {
            String texts = next(now, numbers);
            if (texts != null) {
                panel.content = new Content(texts.split("\n"), numbers);
                panel.postInvalidate();
            }
        } catch (Throwable fault) {
            // Keep the old contents; the app's frames must continue.
        }
        return true;
    }

    /** The contents to show. */
    private static final class Content {
        final String[] texts;
        final int[] numbers;

        Content(String[] texts, int[] numbers) {
            this.texts = texts;
            this.numbers = numbers;
        }
    }

    /** Draws the contents. Lengths are in dp. */
    private static final class Panel extends View {
        static final float WIDTH = 140;
        static final float HEIGHT = 196;

        private static final float TOP = 88;
        private static final float BAR_HEIGHT = 2;
        private static final int BACKGROUND = 0xc0202020;
        private static final int WHITE = 0xffffffff;
        private static final int GREY = 0xff9e9e9e;
        private static final int OPAQUE = 0xff000000;

        private final Paint paint = new Paint(Paint.ANTI_ALIAS_FLAG);
        private final DashPathEffect dashes;
        final float scale;
        volatile Content content;

        Panel(Context context) {
            super(context);
            scale = context.getResources().getDisplayMetrics().density;
            dashes = new DashPathEffect(new float[] {4 * scale, 4 * scale}, 0);
        }

        @Override
        protected void onDraw(Canvas canvas) {
            try {
                paint(canvas);
            } catch (Throwable fault) {
                // On main, in a frame: leave the panel empty.
            }
        }

        private void paint(Canvas canvas) {
            Content now = content;
            canvas.drawColor(BACKGROUND);
            if (now == null) {
                return;
            }
            text(canvas, 24, OPAQUE | now.numbers[0], 4, 26, now.texts[0]);
            text(canvas, 10, WHITE, 84, 26, now.texts[3]);
            row(canvas, now, 0, "sum " + now.texts[1], 42);
            row(canvas, now, 4, "page " + now.texts[2], 66);
            chart(canvas, now.numbers);
        }

        /** Counts and shares of the levels. */
        private void row(Canvas canvas, Content now, int of, String name, float y) {
            text(canvas, 10, WHITE, 4, y, name);
            float left = 4;
            for (int level = 0; level < 4; level++) {
                int colour = OPAQUE | now.numbers[LEVEL + level];
                text(canvas, 10, colour, 68 + 18 * level, y, String.valueOf(now.numbers[COUNTS + of + level]));
                float width = (WIDTH - 8) * now.numbers[SHARES + of + level] / 100;
                rect(canvas, colour, left, y + 4, left + width, y + 8);
                left += width;
            }
        }

        /** One bar per update, the newest on top; lines at 50 and 30, and after 5 s and 10 s a line with the mean. */
        private void chart(Canvas canvas, int[] numbers) {
            int most = 6000;
            for (int bar = 0; bar < BARS; bar++) {
                most = Math.max(most, numbers[BAR + bar]);
            }
            for (int bar = 0; bar < BARS && numbers[BAR + bar] >= 0; bar++) {
                float y = TOP + bar * BAR_HEIGHT;
                float length = (WIDTH - 8) * numbers[BAR + bar] / most;
                rect(canvas, OPAQUE | numbers[COLOUR + bar], 4, y, 4 + length, y + BAR_HEIGHT - 0.5f);
            }
            for (int fps = 50; fps >= 30; fps -= 20) {
                float x = 4 + (WIDTH - 8) * fps * 100 / most;
                line(canvas, x, TOP, x, TOP + BARS * BAR_HEIGHT);
                text(canvas, 8, GREY, x, TOP - 2, String.valueOf(fps));
            }
            for (int half = 0; half < 2; half++) {
                float y = TOP + (half + 1) * BARS / 2 * BAR_HEIGHT;
                line(canvas, 4, y, WIDTH - 4, y);
                int mean = numbers[MEANS + half];
                String name = half == 0 ? "5s" : "10s";
                text(canvas, 8, GREY, WIDTH - 40, y - 2, mean < 0 ? name : name + " " + mean);
            }
        }

        private void text(Canvas canvas, float size, int colour, float x, float y, String text) {
            paint.setPathEffect(null);
            paint.setColor(colour);
            paint.setTextSize(size * scale);
            canvas.drawText(text, x * scale, y * scale, paint);
        }

        private void rect(Canvas canvas, int colour, float left, float top, float right, float bottom) {
            paint.setPathEffect(null);
            paint.setColor(colour);
            canvas.drawRect(left * scale, top * scale, right * scale, bottom * scale, paint);
        }

        private void line(Canvas canvas, float fromX, float fromY, float toX, float toY) {
            paint.setPathEffect(dashes);
            paint.setColor(GREY);
            canvas.drawLine(fromX * scale, fromY * scale, toX * scale, toY * scale, paint);
        }
    }

    private static native void shown();

    private static native void hidden();

    private static native String next(long uptimeMs, int[] numbers);

    private static native void notice(String text);
}
