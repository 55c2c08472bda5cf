package android.view;

import host.Vsync;

public final class Display {
    public static final int DEFAULT_DISPLAY = 0;

    public int getDisplayId() {
        return DEFAULT_DISPLAY;
    }

    public float getRefreshRate() {
        return Vsync.hz();
    }
}
