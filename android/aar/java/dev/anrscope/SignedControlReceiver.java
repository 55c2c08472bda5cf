package dev.anrscope;

import android.content.Context;

/** {@link ControlReceiver} for apps that hold this app's signature-level permission, in builds of any kind. */
public final class SignedControlReceiver extends ControlReceiver {
    @Override
    boolean isAllowed(Context context) {
        return true;
    }
}
