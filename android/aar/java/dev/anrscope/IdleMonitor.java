package dev.anrscope;

import android.os.Build;
import android.os.Looper;
import android.os.MessageQueue;
import android.os.MessageQueue.IdleHandler;
import android.os.SystemClock;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;

/**
 * Tells when main's idle handlers run. The queue's list is replaced by one that wraps each handler once; those that were there stay, ours
 * are left alone, and whoever removes a handler need not know of its wrapper. Where the list cannot be reached nothing is told.
 */
final class IdleMonitor {
    /** So often the lists are compared where no lock guards them. */
    private static final int AGAIN = 8;

    /** A list that no lock guards is compared for so long after it was taken out, ms: a thread may have read it before and be stopped since. */
    private static final long LATE_MS = 2000;

    /** Main's own. */
    private static final ArrayList<Left> LEFT = new ArrayList<Left>();

    private static MessageQueue queue;
    private static Field field;
    private static ArrayList<IdleHandler> before;
    private static int depth;

    private IdleMonitor() {}

    /** Whether the caller, on main, is inside of an idle handler that is told. */
    static boolean isRunning() {
        return depth > 0;
    }

    /** On main. Whether handlers are told. */
    @SuppressWarnings("unchecked")
    static boolean start() {
        if (queue != null) {
            return true;
        }
        try {
            MessageQueue main = Looper.myQueue();
            Field list = MessageQueue.class.getDeclaredField("mIdleHandlers");
            list.setAccessible(true);
            Object lock = lock(main);
            synchronized (main) {
                synchronized (lock == null ? main : lock) {
                    ArrayList<IdleHandler> handlers = (ArrayList<IdleHandler>) list.get(main);
                    swap(main, list, handlers, new Watched(), lock == null && Build.VERSION.SDK_INT >= 37);
                    before = handlers;
                }
            }
            field = list;
            queue = main;
            return true;
        } catch (Throwable denied) {
            return false;
        }
    }

    /** On main, and not in an idle handler: the list that was there is there again, with the handlers of now. */
    @SuppressWarnings("unchecked")
    static void stop() {
        if (queue == null) {
            return;
        }
        try {
            Object lock = lock(queue);
            synchronized (queue) {
                synchronized (lock == null ? queue : lock) {
                    boolean unguarded = lock == null && Build.VERSION.SDK_INT >= 37;
                    if (unguarded) {
                        // Another thread may be in the middle of a call on it: it is read, and no more.
                        before = new ArrayList<IdleHandler>();
                    }
                    before.clear();
                    swap(queue, field, (ArrayList<IdleHandler>) field.get(queue), before, unguarded);
                }
            }
        } catch (Throwable denied) {
            // The wrappers stay; what they tell is dropped.
        }
        queue = null;
    }

    /**
     * What guards the handlers beside the queue's monitor: from API 37 on a lock of their own (AOSP
     * CombinedDeliMessageQueue/MessageQueue.java: mIdleHandlersLock). Null where it is absent or may not be read; then {@link #swap} does without.
     */
    private static Object lock(MessageQueue of) {
        try {
            Field lock = MessageQueue.class.getDeclaredField("mIdleHandlersLock");
            lock.setAccessible(true);
            return lock.get(of);
        } catch (Throwable absent) {
            return null;
        }
    }

    /**
     * Puts {@code to}, which is empty, in the place of {@code from}, with the same handlers. Copied, set, and then compared: a handler that came or
     * went meanwhile, by a thread that no lock keeps out, is taken over into one more list. A list that others can see is never changed here.
     */
    private static void swap(
            MessageQueue of, Field list, ArrayList<IdleHandler> from, ArrayList<IdleHandler> to, boolean unguarded)
            throws IllegalAccessException {
        Object[] copied = from.toArray();
        fill(to, Arrays.asList(copied));
        list.set(of, to);
        for (int again = 0; again < AGAIN; again++) {
            Object[] now = from.toArray();
            if (unguarded) {
                LEFT.add(new Left(from, now));
            }
            if (isSame(copied, now)) {
                return;
            }
            List<Object> come = without(now, copied);
            List<Object> gone = without(copied, now);
            ArrayList<IdleHandler> next = to instanceof Watched ? new Watched() : new ArrayList<IdleHandler>();
            from = to;
            copied = from.toArray();
            fill(next, Arrays.asList(copied));
            fill(next, come);
            for (Object handler : gone) {
                next.remove(next instanceof Watched || handler == null ? handler : own((IdleHandler) handler));
            }
            to = next;
            list.set(of, to);
        }
        if (unguarded) {
            LEFT.add(new Left(from, copied));
        }
    }

    /** A list that was taken out, and what was in it then. */
    private static final class Left {
        final ArrayList<IdleHandler> list;
        final long until = SystemClock.uptimeMillis() + LATE_MS;
        Object[] known;

        Left(ArrayList<IdleHandler> list, Object[] known) {
            this.list = list;
            this.known = known;
        }
    }

    /** On main, while it is idle: what came into or went from a list after it was taken out comes into or goes from the queue. */
    static void settle() {
        for (int at = LEFT.size() - 1; at >= 0; at--) {
            Left left = LEFT.get(at);
            try {
                Object[] now = left.list.toArray();
                if (!isSame(left.known, now)) {
                    MessageQueue main = Looper.myQueue();
                    for (Object come : without(now, left.known)) {
                        main.addIdleHandler(own((IdleHandler) come));
                    }
                    for (Object gone : without(left.known, now)) {
                        main.removeIdleHandler(own((IdleHandler) gone));
                    }
                    left.known = now;
                }
                if (SystemClock.uptimeMillis() > left.until) {
                    LEFT.remove(at);
                }
            } catch (RuntimeException changed) {
                LEFT.remove(at);
            }
        }
    }

    private static boolean isSame(Object[] one, Object[] other) {
        boolean same = one.length == other.length;
        for (int at = 0; same && at < one.length; at++) {
            same = one[at] == other[at];
        }
        return same;
    }

    /** What is in the one and not in the other, by identity: an app's {@code equals} is not called. */
    private static List<Object> without(Object[] one, Object[] other) {
        IdentityHashMap<Object, Object> others = new IdentityHashMap<Object, Object>();
        for (Object handler : other) {
            others.put(handler, handler);
        }
        List<Object> left = new ArrayList<Object>();
        for (Object handler : one) {
            if (!others.containsKey(handler)) {
                left.add(handler);
            }
        }
        return left;
    }

    private static void fill(ArrayList<IdleHandler> to, List<Object> handlers) {
        for (Object handler : handlers) {
            if (handler != null) {
                to.add(own((IdleHandler) handler));
            }
        }
    }

    /** The app's own handler. */
    private static IdleHandler own(IdleHandler handler) {
        return handler instanceof Told ? ((Told) handler).handler : handler;
    }

    /** A handler whose runs are told. */
    private static final class Told implements IdleHandler {
        final IdleHandler handler;
        private final int name;

        Told(IdleHandler handler) {
            this.handler = handler;
            this.name = name(handler.getClass().getName());
        }

        @Override
        public boolean queueIdle() {
            boolean unit = Units.beginIdle(name);
            depth++;
            begin(name);
            try {
                return handler.queueIdle();
            } finally {
                end();
                depth--;
                if (unit) {
                    Units.end();
                }
            }
        }
    }

    /** The queue's list. It is called with the queue locked. */
    private static final class Watched extends ArrayList<IdleHandler> {
        @Override
        public boolean add(IdleHandler handler) {
            return super.add(wrap(handler));
        }

        @Override
        public int indexOf(Object handler) {
            for (int i = 0; i < size(); i++) {
                IdleHandler here = get(i);
                if (here == handler || (here instanceof Told && ((Told) here).handler == handler)) {
                    return i;
                }
            }
            return -1;
        }

        @Override
        public boolean contains(Object handler) {
            return indexOf(handler) >= 0;
        }

        @Override
        public boolean remove(Object handler) {
            int at = indexOf(handler);
            if (at < 0) {
                return false;
            }
            remove(at);
            return true;
        }

        private static IdleHandler wrap(IdleHandler handler) {
            boolean leave = handler == null || handler instanceof Told || handler instanceof LooperMonitor;
            return leave ? handler : new Told(handler);
        }
    }

    private static native int name(String handlerClass);

    private static native void begin(int name);

    private static native void end();
}
