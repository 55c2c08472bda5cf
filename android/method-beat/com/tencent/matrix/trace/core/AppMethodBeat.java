package com.tencent.matrix.trace.core;

import dev.anrscope.MethodBeat;

/**
 * What classes call that were instrumented by Matrix's plug-in, or by {@code anrscope instrument --compat
 * matrix}: hands all of it on to {@link MethodBeat}. It has nothing else of Matrix's class of this name.
 */
public final class AppMethodBeat {
    private AppMethodBeat() {}

    /** A method begins. */
    public static void i(int id) {
        MethodBeat.i(id);
    }

    /** A method ends. */
    public static void o(int id) {
        MethodBeat.o(id);
    }

    /** An activity's window gains or loses focus. May come several times for one. */
    public static void at(android.app.Activity activity, boolean hasFocus) {
        MethodBeat.at(activity, hasFocus);
    }
}
