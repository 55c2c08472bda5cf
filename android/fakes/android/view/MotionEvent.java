package android.view;

public final class MotionEvent extends InputEvent {
    public static final int ACTION_DOWN = 0;
    public static final int ACTION_UP = 1;
    public static final int ACTION_MOVE = 2;

    private final long downTime;
    private final int action;
    private final float x;
    private final float y;

    private MotionEvent(long downTime, long eventTime, int action, float x, float y) {
        super(eventTime);
        this.downTime = downTime;
        this.action = action;
        this.x = x;
        this.y = y;
    }

    public static MotionEvent obtain(long downTime, long eventTime, int action, float x, float y, int metaState) {
        return new MotionEvent(downTime, eventTime, action, x, y);
    }

    public long getDownTime() {
        return downTime;
    }

    public int getAction() {
        return action;
    }

    public float getX() {
        return x;
    }

    public float getY() {
        return y;
    }
}
