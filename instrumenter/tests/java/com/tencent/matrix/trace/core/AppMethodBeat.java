package com.tencent.matrix.trace.core;

/** A fake of the runtime's class with this name. */
public final class AppMethodBeat {
    public static void i(int id) {
        dev.anrscope.MethodBeat.i(id);
    }

    public static void o(int id) {
        dev.anrscope.MethodBeat.o(id);
    }

    public static void at(android.app.Activity activity, boolean hasFocus) {
        dev.anrscope.MethodBeat.at(activity, hasFocus);
    }
}
