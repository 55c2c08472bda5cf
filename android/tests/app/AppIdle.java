package dev.anrscope;

import android.os.Looper;
import android.os.MessageQueue;
import android.os.MessageQueue.IdleHandler;
import java.lang.reflect.Field;
import java.util.ArrayList;

/** Idle handlers: existing, added and removed ones, one that throws, and one that is late. Real time. */
public final class AppIdle {
    private static volatile boolean late;

    private AppIdle() {}

    static final class Counting implements IdleHandler {
        private final boolean keep;
        int runs;

        Counting(boolean keep) {
            this.keep = keep;
        }

        @Override
        public boolean queueIdle() {
            runs++;
            return keep;
        }
    }

    static final class Throwing implements IdleHandler {
        int runs;

        @Override
        public boolean queueIdle() {
            runs++;
            throw new IllegalStateException("idle");
        }
    }

    static final class Slow implements IdleHandler {
        @Override
        public boolean queueIdle() {
            AppScript.await("a report of a late idle handler", () -> late);
            return false;
        }
    }

    static ArrayList<?> list() {
        try {
            Field field = MessageQueue.class.getDeclaredField("mIdleHandlers");
            field.setAccessible(true);
            return (ArrayList<?>) field.get(Looper.myQueue());
        } catch (ReflectiveOperationException fault) {
            throw new AssertionError(fault);
        }
    }

    private static long wrapped() {
        return list().stream().filter(h -> h.getClass().getName().startsWith("dev.anrscope.IdleMonitor")).count();
    }

    public static void main(String[] words) {
        Counting early = new Counting(true);
        Counting kept = new Counting(true);
        Counting once = new Counting(false);
        Throwing throwing = new Throwing();
        Counting twice = new Counting(true);
        Object[] before = new Object[1];
        AppScript script = new AppScript(false, () -> {});
        Anrscope.setListener(
                json -> {
                    if (json.contains("LAG_IDLE_HANDLER")) {
                        late = true;
                    }
                });
        // Before the application's start: the provider finds it there.
        Looper.myQueue().addIdleHandler(early);
        before[0] = list();
        Anrscope.install(script.app, new Config.Builder().idleMs(300).build());
        script.then(
                0,
                () -> {
                    MessageQueue queue = Looper.myQueue();
                    // The library's is the Looper's, which is not reported.
                    System.out.println("found " + wrapped() + " of " + list().size());
                    queue.addIdleHandler(kept);
                    queue.addIdleHandler(once);
                    queue.addIdleHandler(throwing);
                    queue.addIdleHandler(twice);
                    queue.addIdleHandler(twice);
                    queue.removeIdleHandler(twice);
                    System.out.println("added " + wrapped() + " has " + list().contains(kept) + " " + list().contains(twice));
                    Monitors.apply();
                    System.out.println("again " + wrapped());
                });
        // A busy main may find its next message due before it was idle.
        script.until("both", () -> once.runs > 0 && throwing.runs > 0);
        script.then(1, () -> System.out.println("once " + once.runs + " threw " + throwing.runs + " left " + wrapped()));
        script.then(
                1,
                () -> {
                    Looper.myQueue().removeIdleHandler(twice);
                    Looper.myQueue().removeIdleHandler(kept);
                    Looper.myQueue().removeIdleHandler(new Counting(true));
                    System.out.println("removed " + wrapped());
                    Looper.myQueue().addIdleHandler(new Slow());
                });
        script.until("late", () -> late);
        script.then(
                1,
                () -> {
                    System.out.println("late " + late + " left " + wrapped());
                    Anrscope.stop(Tracer.IDLE);
                });
        script.then(
                1,
                () ->
                        System.out.println(
                                "restored " + (list() == before[0]) + " " + list().contains(early) + " " + wrapped()));
        script.run(20);
        System.out.println("ran " + (early.runs > 1 && twice.runs > 0 && kept.runs > 0));
    }
}
