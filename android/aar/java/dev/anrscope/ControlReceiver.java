package dev.anrscope;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import java.util.Locale;

/**
 * Takes commands by broadcast: {@code dev.anrscope.action.START}, {@code STOP}, {@code DUMP}, {@code FLUSH} (see {@link Control}). Only
 * who holds DUMP reaches it, which no ordinary app gets, and only a build that may be debugged does what it is told; for others there
 * is {@link SignedControlReceiver}. The answer is the broadcast's result: code 1 if it was done, and data that says more.
 *
 * <p>A receiver runs on main. Who wants to be heard while that is stuck calls {@link RecordingsProvider}.
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
            answer(0, "this build may not be debugged");
            return;
        }
        final String command = action.substring(ACTION.length()).toLowerCase(Locale.ROOT);
        // Nobody knows that any more once the result is taken along.
        final boolean wanted = isOrderedBroadcast();
        final PendingResult result = goAsync();
        Thread thread =
                new Thread("anrscope-control") {
                    @Override
                    public void run() {
                        try {
                            Control answer = Control.run(command);
                            if (wanted) {
                                result.setResult(answer.done ? 1 : 0, answer.said, null);
                            }
                        } finally {
                            result.finish();
                        }
                    }
                };
        thread.setDaemon(true);
        thread.start();
    }

    private void answer(int code, String said) {
        if (isOrderedBroadcast()) {
            setResult(code, said, null);
        }
    }

    /** The manifest has looked who sends; this looks whether it may be done here. */
    boolean isAllowed(Context context) {
        return Access.isDebuggable(context);
    }
}
