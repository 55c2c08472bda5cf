package android.view;

public interface WindowManager extends ViewManager {
    Display getDefaultDisplay();

    void removeViewImmediate(View view);

    class BadTokenException extends RuntimeException {
        public BadTokenException(String name) {
            super(name);
        }
    }

    class LayoutParams extends ViewGroup.LayoutParams {
        public static final int TYPE_PHONE = 2002;
        /** API 26. */
        public static final int TYPE_APPLICATION_OVERLAY = 2038;
        public static final int FLAG_NOT_FOCUSABLE = 0x8;
        public static final int FLAG_NOT_TOUCHABLE = 0x10;
        public static final int FLAG_NOT_TOUCH_MODAL = 0x20;
        public static final int FLAG_LAYOUT_NO_LIMITS = 0x200;

        public int type;
        public int flags;
        public int format;
        public int gravity;
        public int x;
        public int y;
        public int preferredDisplayModeId;

        public LayoutParams(int width, int height, int type, int flags, int format) {
            super(width, height);
            this.type = type;
            this.flags = flags;
            this.format = format;
        }
    }
}
