package android.graphics;

public class PixelFormat {
    public static final int TRANSLUCENT = -3;
    public static final int OPAQUE = -1;
}
