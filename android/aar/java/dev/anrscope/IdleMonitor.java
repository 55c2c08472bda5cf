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
 * Reports when main's idle handlers run. The queue's handler list is replaced by one that wraps each handler once.
 * Existing handlers stay, the library's own are not wrapped, and removing a handler works without knowing its wrapper.
 * Where the list cannot be accessed, nothing is reported.
 */
final class IdleMonitor {
    /** How often lists are compared where no lock guards them. */
    private static final int MAX_COMPARISONS = 8;

    /**
     * How long a replaced list that no lock guards is still compared, ms: a thread may have read it before and may have
     * been suspended since.
     */
    private static final long COMPARE_MS = 2000;

    /** Accessed on main only. */
    private static final ArrayList<Left> LEFT = new ArrayList<Left>();

    private static MessageQueue queue;
    private static Field field;
    private static ArrayList<IdleHandler> before;
    private static int depth;

    private IdleMonitor() {}

    /** Whether the calling code, on main, runs inside a reported idle handler. */
    static boolean isRunning() {
        return depth > 0;
    }

    /** Turns reporting on or off. On main. */
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
                exchange(main, list, lock, true);
            }
            field = list;
            queue = main;
            return true;
        } catch (Throwable denied) {
            return false;
        }
    }

    /** On main, outside idle handlers: restores the original list with the current handlers. */
    static void stop() {
        if (queue == null) {
            return;
        }
        try {
            Object lock = lock(queue);
            synchronized (queue) {
                exchange(queue, field, lock, false);
            }
        } catch (Throwable denied) {
            // The wrappers stay; their reports are dropped.
        }
        queue = null;
    }

    /**
     * The lock that guards the handlers beside the queue's monitor: from API 37 on a lock of their own (AOSP
     * CombinedDeliMessageQueue/MessageQueue.java: mIdleHandlersLock). Null if it does not exist or access is denied;
     * then {@link #swap} works without it.
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
     * Exchanges the watched list and the original one. The caller has the queue's monitor; {@code lock} is taken here,
     * unless it is null.
     *
     * <p>Two locks in one method, where the inner one may be the same object as the outer one, fail Android's lock
     * verification: the class "will run slower", and each start of an app says so.
     */
    private static void exchange(MessageQueue of, Field list, Object lock, boolean watch)
            throws IllegalAccessException {
        if (lock == null) {
            exchange(of, list, watch, Build.VERSION.SDK_INT >= 37);
            return;
        }
        synchronized (lock) {
            exchange(of, list, watch, false);
        }
    }

    @SuppressWarnings("unchecked")
    private static void exchange(MessageQueue of, Field list, boolean watch, boolean unguarded)
            throws IllegalAccessException {
        ArrayList<IdleHandler> handlers = (ArrayList<IdleHandler>) list.get(of);
        if (watch) {
            swap(of, list, handlers, new Watched(), unguarded);
            before = handlers;
            return;
        }
        if (unguarded) {
            // Another thread may be using it: it is only read.
            before = new ArrayList<IdleHandler>();
        }
        before.clear();
        swap(of, list, handlers, before, unguarded);
    }

    /**
     * Replaces {@code from} by {@code to}, which is empty, with the same handlers. The handlers are copied, the list is
     * set, then both are compared: a handler that another thread added or removed meanwhile, without a lock, is
     * transferred in one more list. A list that other threads can see is never modified here.
     */
    private static void swap(
            MessageQueue of, Field list, ArrayList<IdleHandler> from, ArrayList<IdleHandler> to, boolean unguarded)
            throws IllegalAccessException {
        Object[] copied = from.toArray();
        fill(to, Arrays.asList(copied));
        list.set(of, to);
        for (int again = 0; again < MAX_COMPARISONS; again++) {
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

    /** A replaced list, and its contents at that time. */
    private static final class Left {
        final ArrayList<IdleHandler> list;
        final long until = SystemClock.uptimeMillis() + COMPARE_MS;
        Object[] known;

        Left(ArrayList<IdleHandler> list, Object[] known) {
            this.list = list;
            this.known = known;
        }
    }

    /** On main, while it is idle: applies later additions to and removals from a replaced list to the queue. */
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

    /** Elements of the first list that are not in the second, by identity: the app's {@code equals} is never called. */
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

    /** The app's handler. */
    private static IdleHandler own(IdleHandler handler) {
        return handler instanceof ReportedHandler ? ((ReportedHandler) handler).handler : handler;
    }

    /** Wraps a handler and reports its runs. */
    private static final class ReportedHandler implements IdleHandler {
        final IdleHandler handler;
        private final int name;

        ReportedHandler(IdleHandler handler) {
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

    /** The queue's list. Its methods are called with the queue locked. */
    private static final class Watched extends ArrayList<IdleHandler> {
        @Override
        public boolean add(IdleHandler handler) {
            return super.add(wrap(handler));
        }

        @Override
        public int indexOf(Object handler) {
            for (int i = 0; i < size(); i++) {
                IdleHandler here = get(i);
                if (here == handler || (here instanceof ReportedHandler && ((ReportedHandler) here).handler == handler)) {
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
            boolean leave = handler == null || handler instanceof ReportedHandler || handler instanceof LooperMonitor;
            return leave ? handler : new ReportedHandler(handler);
        }
    }

    private static native int name(String handlerClass);

    private static native void begin(int name);

    private static native void end();
}
