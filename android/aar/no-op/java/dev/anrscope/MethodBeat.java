package dev.anrscope;

/** The class that instrumented code calls, without a recorder. */
public final class MethodBeat {
    /** Always 0 without calls that overflow. */
    public static int lost;

    public static final int[] LOST_ENDS = new int[16];

    private MethodBeat() {}

    /** Does nothing. */
    public static void i(int id) {}

    /** Does nothing. */
    public static void o(int id) {}

    /** Does nothing. */
    public static void at(android.app.Activity activity, boolean hasFocus) {}

    /** Does nothing. */
    public static void wb(int what, Object on) {}

    /** Does nothing. */
    public static void we(int kind, Object on) {}

    /** Does nothing. */
    public static void wr(Object on) {}

    /** Does nothing. */
    public static void wt(boolean taken, Object on) {}

    /** Does nothing. */
    public static void c(Object object, Object other, int step, int method) {}

    /** Does nothing; returns false. */
    public static boolean dump() {
        return false;
    }

    /** Does nothing. */
    public static void destination(String directory) {}

    /** Does nothing. */
    public static void pause() {}

    /** Does nothing. */
    public static void resume(boolean coarse) {}

    /** Does nothing. */
    public static void method(int id, boolean on) {}

    /** Always false. */
    public static boolean isRecording() {
        return false;
    }
}
