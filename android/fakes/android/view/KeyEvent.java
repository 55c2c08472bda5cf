package android.view;

public class KeyEvent extends InputEvent {
    public static final int ACTION_DOWN = 0;
    public static final int ACTION_UP = 1;

    private final int action;
    private final int code;

    public KeyEvent(long downTime, long eventTime, int action, int code, int repeat) {
        super(eventTime);
        this.action = action;
        this.code = code;
    }

    public int getAction() {
        return action;
    }

    public int getKeyCode() {
        return code;
    }
}
