package dev.anrscope;

import android.os.Build;
import android.view.Choreographer;
import java.lang.reflect.Field;
import java.lang.reflect.Method;

/**
 * Detects the stages through Choreographer's own queues, below API 24: one callback at the head of each queue. They are
 * inserted without the method that requests a vsync, so they run with a frame and never cause one.
 */
final class FrameQueues {
    /** Sorts before every real time. */
    private static final Long HEAD = Long.valueOf(-1);

    private final Object lock;
    private final Step[] steps;
    private final Object receiver;
    private final Field vsync;
    /** Times of FrameInfo (API 23), else null. */
    private final long[] info;

    private boolean over;

    private FrameQueues(Choreographer choreographer) throws ReflectiveOperationException {
        lock = value(choreographer, "mLock");
        receiver = value(choreographer, "mDisplayEventReceiver");
        vsync = field(receiver.getClass(), "mTimestampNanos");
        vsync.getLong(receiver);
        info = Build.VERSION.SDK_INT < 23 ? null : (long[]) value(value(choreographer, "mFrameInfo"), "mFrameInfo");
        Object[] queues = (Object[]) value(choreographer, "mCallbackQueues");
        // INPUT, ANIMATION, TRAVERSAL, and from API 23 on COMMIT.
        int[] stages = {FrameMonitor.INPUT, FrameMonitor.ANIMATION, FrameMonitor.TRAVERSAL, FrameMonitor.COMMIT};
        if (queues.length != (Build.VERSION.SDK_INT < 23 ? 3 : 4) || lock == null) {
            throw new NoSuchFieldException("another Choreographer");
        }
        steps = new Step[queues.length];
        for (int i = 0; i < steps.length; i++) {
            steps[i] = new Step(stages[i], queues[i]);
        }
    }

    /** Returns null where access to the queues is denied. */
    static FrameQueues of(Choreographer choreographer) {
        try {
            return new FrameQueues(choreographer);
        } catch (Throwable denied) {
            return null;
        }
    }

    void start() {
        steps[0].add();
    }

    /** Removes the pending callbacks. */
    void stop() {
        over = true;
        for (Step step : steps) {
            step.remove();
        }
    }

    private static Object value(Object of, String name) throws ReflectiveOperationException {
        return field(of.getClass(), name).get(of);
    }

    private static Field field(Class<?> of, String name) throws ReflectiveOperationException {
        Field field = of.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    private final class Step implements Runnable {
        private final int stage;
        private final Object queue;
        private final Method add;
        private final Method remove;
        /** Allocated once, so that frames allocate nothing here. */
        private final Object[] head = {HEAD, this, null};

        private boolean waits;

        Step(int stage, Object queue) throws ReflectiveOperationException {
            this.stage = stage;
            this.queue = queue;
            add = queue.getClass().getDeclaredMethod("addCallbackLocked", long.class, Object.class, Object.class);
            add.setAccessible(true);
            remove = queue.getClass().getDeclaredMethod("removeCallbacksLocked", Object.class, Object.class);
            remove.setAccessible(true);
        }

        void add() {
            if (waits || over) {
                return;
            }
            try {
                synchronized (lock) {
                    add.invoke(queue, head);
                }
                waits = true;
            } catch (Throwable denied) {
                over = true;
            }
        }

        void remove() {
            if (!waits) {
                return;
            }
            waits = false;
            try {
                synchronized (lock) {
                    remove.invoke(queue, this, null);
                }
            } catch (Throwable denied) {
                // It runs once more and does nothing.
            }
        }

        @Override
        public void run() {
            waits = false;
            if (over) {
                return;
            }
            if (stage == FrameMonitor.INPUT) {
                FrameMonitor.frame(intended(), false);
                for (int i = 1; i < steps.length; i++) {
                    steps[i].add();
                }
                // Inserted for the next frame: this one has already taken its callbacks.
                add();
                FrameMonitor.queued();
            } else {
                FrameMonitor.stage(stage, 0, false);
                if (stage == FrameMonitor.TRAVERSAL && info != null) {
                    FrameMonitor.inputEvents(info[OLDEST_INPUT], info[NEWEST_INPUT]);
                }
            }
        }
    }

    /** Indices into FrameInfo. */
    private static final int OLDEST_INPUT = 3;

    private static final int NEWEST_INPUT = 4;

    private long intended() {
        try {
            return vsync.getLong(receiver);
        } catch (Throwable denied) {
            return 0;
        }
    }
}
