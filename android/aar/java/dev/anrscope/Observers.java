package dev.anrscope;

import java.util.ArrayList;
import java.util.Arrays;

/**
 * The app's observers. The array is replaced, never modified, so notifying observers takes no lock and allocates
 * nothing.
 */
final class Observers {
    private static final Observer[] NONE = {};

    private static volatile Observer[] all = NONE;

    private Observers() {}

    static synchronized void add(Observer observer) {
        if (observer == null || Arrays.asList(all).contains(observer)) {
            return;
        }
        Observer[] more = Arrays.copyOf(all, all.length + 1);
        more[all.length] = observer;
        all = more;
    }

    static synchronized void remove(Observer observer) {
        ArrayList<Observer> left = new ArrayList<Observer>(Arrays.asList(all));
        left.remove(observer);
        all = left.toArray(NONE);
    }

    static void messageBegin(String line) {
        for (Observer observer : all) {
            try {
                observer.onMessageBegin(line);
            } catch (Throwable theirs) {
                // An exception in the app's observer must not reach main.
            }
        }
    }

    static void messageEnd(String line) {
        for (Observer observer : all) {
            try {
                observer.onMessageEnd(line);
            } catch (Throwable theirs) {
                // As above.
            }
        }
    }

    static void frame(
            String scene,
            long beginNs,
            long totalNs,
            long inputNs,
            long animationNs,
            long traversalNs,
            long latencyNs) {
        for (Observer observer : all) {
            try {
                observer.onFrame(scene, beginNs, totalNs, inputNs, animationNs, traversalNs, latencyNs);
            } catch (Throwable theirs) {
                // As above.
            }
        }
    }

    static void droppedFrames(String scene, int dropped) {
        for (Observer observer : all) {
            try {
                observer.onDroppedFrames(scene, dropped);
            } catch (Throwable theirs) {
                // As above.
            }
        }
    }

    static void activityFocused(String activity) {
        for (Observer observer : all) {
            try {
                observer.onActivityFocused(activity);
            } catch (Throwable theirs) {
                // As above.
            }
        }
    }

    static void applicationCreated() {
        for (Observer observer : all) {
            try {
                observer.onApplicationCreated();
            } catch (Throwable theirs) {
                // As above.
            }
        }
    }

    static void foreground(boolean foreground) {
        for (Observer observer : all) {
            try {
                observer.onForeground(foreground);
            } catch (Throwable theirs) {
                // As above.
            }
        }
    }

    static void anr(String json) {
        for (Observer observer : all) {
            try {
                observer.onAnr(json);
            } catch (Throwable theirs) {
                // As above.
            }
        }
    }

    static void report(String json) {
        for (Observer observer : all) {
            try {
                observer.onReport(json);
            } catch (Throwable theirs) {
                // As above.
            }
        }
    }

    static boolean none() {
        return all.length == 0;
    }
}
