package chains;

import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Lets a generated program reach its hang in a certain order, and prints where each thread is after {@code chains.ms} of it; then the
 * process is to be killed. It is not instrumented, so a recording has nothing of it.
 */
public final class Stage {
    private static final Set<String> DONE = ConcurrentHashMap.newKeySet();

    private Stage() {}

    /** Notes a moment, which another thread awaits by {@link #until}. */
    public static void did(String what) {
        DONE.add(what);
    }

    public static void until(String what) {
        while (!DONE.contains(what)) {
            pause(1);
        }
    }

    /** Returns when the thread with this name waits and stays so. */
    public static void waits(String thread) {
        for (int seen = 0; seen < 5; pause(2)) {
            seen = isWaiting(thread) ? seen + 1 : 0;
        }
    }

    /** Returns when the thread, which was started, has ended. */
    public static void ended(Thread thread) {
        while (thread.isAlive()) {
            pause(1);
        }
    }

    private static boolean isWaiting(String name) {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals(name)) {
                Thread.State state = thread.getState();
                return state != Thread.State.RUNNABLE && state != Thread.State.NEW;
            }
        }
        return false;
    }

    /** Main is about to wait. */
    public static void hangs() {
        Thread clock = new Thread(Stage::end, "stage");
        clock.setDaemon(true);
        clock.start();
    }

    private static void end() {
        pause(Long.getLong("chains.ms", 600));
        StringBuilder all = new StringBuilder();
        for (Map.Entry<Thread, StackTraceElement[]> one : Thread.getAllStackTraces().entrySet()) {
            all.append("thread\t").append(one.getKey().getName()).append('\t').append(one.getKey().getState());
            for (StackTraceElement frame : one.getValue()) {
                all.append('\t').append(frame.getClassName()).append('.').append(frame.getMethodName());
            }
            all.append('\n');
        }
        System.out.print(all.append("end\n"));
        System.out.flush();
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
