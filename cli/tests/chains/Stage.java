package chains;

import dev.anrscope.MethodBeat;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Lets a generated program reach its hang in a certain order, and then prints where each thread is and halts the process. It is not
 * instrumented, so a recording has nothing of it.
 *
 * <p>Properties: {@code chains.ms}, the length of the hang; {@code chains.message}: main is in a message, which counts as a hang after 2 s
 * instead of 5 s.
 */
public final class Stage {
    private static final int DISPATCH = 0xFFFFE;
    private static final Set<String> DONE = ConcurrentHashMap.newKeySet();

    private Stage() {}

    /** Main begins. */
    public static void begin() {
        if (Boolean.getBoolean("chains.message")) {
            MethodBeat.i(DISPATCH);
        }
    }

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
        System.out.print(all);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
