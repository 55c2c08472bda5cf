package dev.anrscope;

/**
 * Receives what the monitors see. All methods do nothing by default; override what you need and pass it to {@link
 * Anrscope#addObserver}. Exceptions are dropped.
 *
 * <p>Methods marked "on main" run inside what they report: keep them short.
 */
public abstract class Observer {
    /** A message of the main Looper starts; the argument is the Looper's line, if it has a Printer. On main. */
    public void onMessageBegin(String line) {}

    /** The message ends. On main. */
    public void onMessageEnd(String line) {}

    /**
     * A frame is over. On the thread that detected it.
     *
     * @param scene the current scene
     * @param beginNs when it began, ns of {@code System.nanoTime}'s clock
     * @param totalNs how long it took, from its intended vsync
     * @param inputNs its INPUT stage, or 0 if unknown
     * @param animationNs its ANIMATION stage
     * @param traversalNs its TRAVERSAL stage
     * @param latencyNs time from the oldest input event handled in the frame to the frame's end; -1 if it handled none
     */
    public void onFrame(
            String scene,
            long beginNs,
            long totalNs,
            long inputNs,
            long animationNs,
            long traversalNs,
            long latencyNs) {}

    /**
     * A frame dropped at least as many frames as the option {@code tell_dropped} says. On the thread that detected it.
     */
    public void onDroppedFrames(String scene, int dropped) {}

    /** An activity's window got the focus. On main. */
    public void onActivityFocused(String activity) {}

    /** The application is created; its first activity, service or receiver follows. On main. */
    public void onApplicationCreated() {}

    /** The app came to the foreground or went to the background. On a library thread. */
    public void onForeground(boolean foreground) {}

    /**
     * An ANR was detected: the report, before {@link IssueListener} gets it. On the thread {@code anrscope-reports}.
     */
    public void onAnr(String json) {}

    /**
     * A report is finished, before {@link IssueListener} gets it. On the thread {@code anrscope-reports}: keep it short.
     */
    public void onReport(String json) {}
}
