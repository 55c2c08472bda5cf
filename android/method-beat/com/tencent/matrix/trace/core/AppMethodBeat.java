package com.tencent.matrix.trace.core;

import dev.anrscope.MethodBeat;

/**
 * The class that code calls after instrumentation by Matrix's plug-in or by {@code anrscope instrument --compat
 * matrix}. It forwards all calls to {@link MethodBeat}, and has nothing else of Matrix's class of this name.
 */
public final class AppMethodBeat {
    private AppMethodBeat() {}

    /** A method is entered. */
    public static void i(int id) {
        MethodBeat.i(id);
    }

    /** A method exits. */
    public static void o(int id) {
        MethodBeat.o(id);
    }

    /** An activity's window gains or loses focus. May be called several times per change. */
    public static void at(android.app.Activity activity, boolean hasFocus) {
        MethodBeat.at(activity, hasFocus);
    }
}
