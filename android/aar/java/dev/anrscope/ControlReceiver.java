package dev.anrscope;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import java.util.Locale;

/**
 * Takes commands by broadcast: {@code dev.anrscope.action.START}, {@code STOP}, {@code DUMP}, {@code FLUSH} (see {@link
 * Control}). Only holders of DUMP reach it, which ordinary apps cannot get, and it works in debuggable builds only; for
 * other builds there is {@link SignedControlReceiver}. The answer is the broadcast's result: code 1 if the command was
 * carried out, and data with details.
 *
 * <p>A receiver runs on main. To reach an app whose main thread is blocked, call {@link RecordingsProvider}.
 */
public class ControlReceiver extends BroadcastReceiver {
    private static final String ACTION = "dev.anrscope.action.";

    @Override
    public void onReceive(Context context, Intent intent) {
        String action = intent == null ? null : intent.getAction();
        if (action == null || !action.startsWith(ACTION)) {
            return;
        }
        if (!isAllowed(context)) {
            answer(0, "this build is not debuggable");
            return;
        }
        final String command = action.substring(ACTION.length()).toLowerCase(Locale.ROOT);
        // The result is already gone: no one receives the answer.
        final boolean wanted = isOrderedBroadcast();
        final PendingResult result = goAsync();
        Thread thread =
                new Thread("anrscope-control") {
                    @Override
                    public void run() {
                        try {
                            Control answer = Control.run(command);
                            if (wanted) {
                                result.setResult(answer.done ? 1 : 0, answer.details, null);
                            }
                        } finally {
                            result.finish();
                        }
                    }
                };
        thread.setDaemon(true);
        thread.start();
    }

    private void answer(int code, String details) {
        if (isOrderedBroadcast()) {
            setResult(code, details, null);
        }
    }

    /** The manifest checks the sender; this checks whether the build allows it. */
    boolean isAllowed(Context context) {
        return Access.isDebuggable(context);
    }
}
