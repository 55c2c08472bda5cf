package dev.anrscope.debug;

import android.content.Context;
import android.os.Debug;
import dev.anrscope.Anrscope;
import dev.anrscope.Observer;

/**
 * Learns of stalls from the recorder's reports: of a slow message when it has ended, of an ANR while main is blocked. It
 * only wakes the worker. Called on one thread of the recorder, {@code anrscope-reports}.
 */
final class StallObserver extends Observer {
    private static final String COST = "\"cost\":";

    /** The page of stalls itself is in front: a WebView's first start takes long. */
    private static final String OWN_PAGE = "\"scene\":\"dev.anrscope.debug.StallsActivity\"";

    private final Context context;
    /** The options, read at the first report; null before. */
    private StallWorker worker;

    private long leastMs;

    StallObserver(Context context) {
        this.context = context;
    }

    @Override
    public void onReport(String json) {
        boolean ended = json.contains("\"detail\":\"NORMAL\"");
        boolean anr = json.contains("\"detail\":\"ANR\"") || json.contains("\"detail\":\"SIGNAL_ANR\"");
        // At a breakpoint main stands still because the developer wants it to.
        if (!ended && !anr || Debug.isDebuggerConnected() || json.contains(OWN_PAGE)) {
            return;
        }
        if (worker == null) {
            leastMs = Stalls.leastMs(context);
            worker = new StallWorker(context, leastMs);
        }
        if (leastMs >= 0 && (anr || cost(json) >= leastMs)) {
            worker.wake(ended, Anrscope.isForeground());
        }
    }

    /** How long the message took, ms; 0 if the report does not say so. */
    private static long cost(String json) {
        int at = json.indexOf(COST);
        if (at < 0) {
            return 0;
        }
        long cost = 0;
        for (at += COST.length(); at < json.length() && Character.isDigit(json.charAt(at)); at++) {
            cost = Math.min(cost * 10 + (json.charAt(at) - '0'), Integer.MAX_VALUE);
        }
        return cost;
    }
}
