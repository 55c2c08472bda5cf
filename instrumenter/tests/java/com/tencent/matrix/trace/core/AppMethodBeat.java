package com.tencent.matrix.trace.core;

/** Stands in for the class of the runtime by this name. */
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
