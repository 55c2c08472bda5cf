package com.example.sample;

import android.content.Context;
import android.graphics.Canvas;
import android.graphics.Color;
import android.graphics.Paint;
import android.view.Choreographer;
import android.view.MotionEvent;
import android.view.View;

/** Draws in every frame; one stage of the next frame can be slowed down. */
final class FrameView extends View {
    /** The stages that can be slow. */
    enum Stage {
        INPUT,
        ANIMATION,
        MEASURE,
        DRAW
    }

    private final Paint paint = new Paint();
    private long measureMillis;
    private long drawMillis;
    private long inputMillis;
    private int position;

    FrameView(Context context) {
        super(context);
        paint.setColor(Color.rgb(0x30, 0x70, 0xc0));
    }

    /** Slows this stage of the next frame down by this much; INPUT is the next touch of this view. */
    void slow(Stage stage, long millis) {
        switch (stage) {
            case INPUT:
                inputMillis = millis;
                break;
            case ANIMATION:
                Choreographer.getInstance().postFrameCallback(frame -> Work.compute(millis));
                break;
            case MEASURE:
                measureMillis = millis;
                requestLayout();
                break;
            default:
                drawMillis = millis;
        }
    }

    @Override
    protected void onMeasure(int width, int height) {
        long millis = measureMillis;
        measureMillis = 0;
        if (millis > 0) {
            Work.compute(millis);
        }
        super.onMeasure(width, height);
    }

    @Override
    protected void onDraw(Canvas canvas) {
        long millis = drawMillis;
        drawMillis = 0;
        if (millis > 0) {
            Work.compute(millis);
        }
        position = (position + 6) % Math.max(1, getWidth());
        canvas.drawRect(position, 0, position + getHeight(), getHeight(), paint);
        postInvalidateOnAnimation();
    }

    @Override
    public boolean onTouchEvent(MotionEvent event) {
        long millis = inputMillis;
        inputMillis = 0;
        if (millis > 0) {
            Work.compute(millis);
        }
        return true;
    }
}
