package dev.anrscope;

/**
 * Told of ANRs, in the shape of Matrix's listeners of {@code SignalAnrTracer}. All methods do nothing here; override what is wanted and give it
 * to {@link Anrscope#setAnrListener}. They are called on the thread {@code anrscope-reports}, one after the other; what one throws is
 * dropped. Reports come in any case, to {@link IssueListener}.
 */
public abstract class AnrListener {
    /**
     * An ANR was found, by the timer (a message of {@code anr_ms}) or by SIGQUIT once the verdict is "ANR". The same ANR may be found by both: the
     * timer is the earlier one as a rule.
     */
    public void onAnrDetected(Anr anr) {
        onAnrDetected(anr.stackTrace(), anr.head(), anr.headWhenMs(), anr.isFromErrorState(), anr.cgroup());
    }

    /**
     * The same with Matrix's arguments.
     *
     * @param stackTrace main's stack, a frame a line
     * @param message the message at the head of the queue, in the form of {@code Looper.dump} without its object and arguments; empty if nothing
     *     waits, or the queue cannot be read
     * @param when it was due, ms from now: negative if it is late, 0 if nothing waits
     * @param fromErrorState whether the system's list of processes in error named this one
     * @param cgroup of the process
     */
    public void onAnrDetected(String stackTrace, String message, long when, boolean fromErrorState, String cgroup) {}

    /**
     * A thread dump shows threads that wait for each other: that of an earlier process, which the system kept (API 30), at the next start; or one of
     * this process, where dumps are copied.
     *
     * @param pid of the process
     * @param main main's lines in the dump; empty if it is not there
     * @param first the lines of the first thread of the circle
     * @param last of the last one
     * @param threads the dump's numbers of those in the circle; each waits for the next, and the last for the first
     * @param locks classes of what they wait for, in the same order
     */
    public void onDeadLockDetected(int pid, String main, String first, String last, int[] threads, String[] locks) {}

    /** The dump of an earlier process's ANR shows main waiting for its next message: whatever it was stuck in was over by then. */
    public void onMainThreadIdle(int pid, String main) {}
}
