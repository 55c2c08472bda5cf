package dev.anrscope;

/** What instrumented classes call, doing nothing. */
public final class MethodBeat {
    private MethodBeat() {}

    /** Nothing. */
    public static void i(int id) {}

    /** Nothing. */
    public static void o(int id) {}

    /** Nothing. */
    public static void at(android.app.Activity activity, boolean hasFocus) {}

    /** Nothing. */
    public static void wb(int kind, Object on) {}

    /** Nothing. */
    public static void we(int kind, Object on) {}

    /** Nothing. */
    public static void wr(Object on) {}

    /** Nothing. */
    public static boolean dump() {
        return false;
    }

    /** Nothing. */
    public static void destination(String folder) {}

    /** Nothing. */
    public static void pause() {}

    /** Nothing. */
    public static void resume(boolean coarse) {}

    /** Nothing. */
    public static void method(int id, boolean on) {}

    /** Never. */
    public static boolean isRecording() {
        return false;
    }
}
