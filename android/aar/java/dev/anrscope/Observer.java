package dev.anrscope;

/**
 * Sees what the monitors see. All methods do nothing here; override what is wanted and give it to {@link Anrscope#addObserver}. What
 * one throws is dropped.
 *
 * <p>Those marked "on main" run inside of what they tell of: be short.
 */
public abstract class Observer {
    /** A message of the main Looper begins; the Looper's line, if it has a Printer. On main. */
    public void onMessageBegin(String line) {}

    /** The message ends. On main. */
    public void onMessageEnd(String line) {}

    /**
     * A frame is over. On the thread that got to know of it.
     *
     * @param scene the page
     * @param beginNs when it began, ns of {@code System.nanoTime}'s clock
     * @param totalNs how long it took, from its intended vsync
     * @param inputNs its INPUT stage, or 0 where that is not known
     * @param animationNs its ANIMATION stage
     * @param traversalNs its TRAVERSAL stage
     * @param latencyNs from the oldest input event that it handled to its end; -1 if it handled none
     */
    public void onFrame(
            String scene,
            long beginNs,
            long totalNs,
            long inputNs,
            long animationNs,
            long traversalNs,
            long latencyNs) {}

    /** A frame dropped others, as many as the option {@code tell_dropped} says or more. On the thread that got to know of it. */
    public void onDroppedFrames(String scene, int dropped) {}

    /** An activity's window got the focus. On main. */
    public void onActivityFocused(String activity) {}

    /** The application is created: its first activity, service or receiver follows. On main. */
    public void onApplicationCreated() {}

    /** The app came to the foreground, or went to the background. On a thread of ours. */
    public void onForeground(boolean foreground) {}

    /** An ANR: the report, as {@link IssueListener} gets it, before that. On the thread {@code anrscope-reports}. */
    public void onAnr(String json) {}
}
