package dev.anrscope;

import java.util.LinkedHashMap;
import java.util.Map;

/** Passes ANR events from the library to the app's {@link AnrListener}; on {@code anrscope-reports}. */
final class AnrEvents {
    private static final String ANR = "!anr\n";
    private static final String DEADLOCK = "!deadlock\n";
    private static final String IDLE = "!idle\n";

    static volatile AnrListener listener;

    private AnrEvents() {}

    /** Handles the event if it is one of an ANR; returns whether it was. */
    static boolean take(String what) {
        boolean anr = what.startsWith(ANR);
        boolean deadlock = what.startsWith(DEADLOCK);
        if (!anr && !deadlock && !what.startsWith(IDLE)) {
            return false;
        }
        AnrListener to = listener;
        if (to != null) {
            try {
                if (anr) {
                    to.onAnrDetected(Anr.of(what, ANR.length()));
                } else {
                    dump(to, what, deadlock);
                }
            } catch (Throwable theirs) {
                // An exception in the app's listener must not stop later events.
            }
        }
        return true;
    }

    private static void dump(AnrListener to, String what, boolean deadlock) {
        Map<String, String> values = new LinkedHashMap<String, String>();
        int end = Anr.values(what, (deadlock ? DEADLOCK : IDLE).length(), values);
        int pid = Integer.parseInt(values.get("pid"));
        String[] texts = what.substring(end).split("\u001e\n", -1);
        if (!deadlock) {
            to.onMainThreadIdle(pid, texts[0]);
            return;
        }
        String[] numbers = values.get("threads").split(",");
        int[] threads = new int[numbers.length];
        for (int at = 0; at < threads.length; at++) {
            threads[at] = Integer.parseInt(numbers[at]);
        }
        to.onDeadlockDetected(pid, texts[0], texts[1], texts[2], threads, values.get("locks").split(";"));
    }
}
