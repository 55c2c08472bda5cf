package dev.anrscope;

/**
 * Receives ANRs, with the same callbacks as Matrix's listeners of {@code SignalAnrTracer}. All methods do nothing by
 * default; override what you need and pass it to {@link Anrscope#setAnrListener}. Callbacks run one after the other on
 * the thread {@code anrscope-reports}; exceptions are dropped. Reports go to {@link IssueListener} in any case.
 */
public abstract class AnrListener {
    /**
     * An ANR was detected, by the timer (a message took {@code anr_ms}) or by SIGQUIT once the verdict is "ANR". Both
     * can detect the same ANR; the timer is usually first.
     */
    public void onAnrDetected(Anr anr) {
        onAnrDetected(anr.stackTrace(), anr.head(), anr.headWhenMs(), anr.isFromErrorState(), anr.cgroup());
    }

    /**
     * The same event with Matrix's arguments.
     *
     * @param stackTrace main's stack, one frame per line
     * @param message the message at the head of the queue, in the form of {@code Looper.dump} without its object and
     *     arguments; empty if no message waits or the queue cannot be read
     * @param when when it was due, in ms from now: negative if it is overdue, 0 if no message waits
     * @param fromErrorState whether this process was in the system's list of processes in error
     * @param cgroup cgroup of the process
     */
    public void onAnrDetected(String stackTrace, String message, long when, boolean fromErrorState, String cgroup) {}

    /**
     * A thread dump shows a deadlock. The dump is that of an earlier process, kept by the system (API 30) and read at
     * the next start, or one of this process, if dumps are copied.
     *
     * @param pid the process in the dump
     * @param main main's lines in the dump; empty if main is not in it
     * @param first lines of the first thread in the cycle
     * @param last lines of the last thread in the cycle
     * @param threads numbers, in the dump, of the threads in the cycle; each waits for the next, the last for the first
     * @param locks classes of the locks they wait for, in the same order
     */
    public void onDeadlockDetected(int pid, String main, String first, String last, int[] threads, String[] locks) {}

    /** In the dump of an earlier process's ANR, main is idle: the stall was over when the dump was taken. */
    public void onMainThreadIdle(int pid, String main) {}
}
