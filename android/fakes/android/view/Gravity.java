package android.view;

public class Gravity {
    public static final int TOP = 0x30;
    public static final int LEFT = 0x3;
    public static final int START = 0x800003;
}
