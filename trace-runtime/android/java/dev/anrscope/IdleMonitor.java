package dev.anrscope;

import android.os.Looper;
import android.os.MessageQueue;
import android.os.MessageQueue.IdleHandler;
import java.lang.reflect.Field;
import java.util.ArrayList;

/**
 * Tells when main's idle handlers run. The queue's list is replaced by one that wraps each handler once; those that were there stay, ours
 * are left alone, and whoever removes a handler need not know of its wrapper. Where the list cannot be reached nothing is told.
 */
final class IdleMonitor {
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
            synchronized (main) {
                ArrayList<IdleHandler> handlers = (ArrayList<IdleHandler>) list.get(main);
                Watched watched = new Watched();
                for (IdleHandler handler : handlers) {
                    watched.add(handler);
                }
                list.set(main, watched);
                before = handlers;
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
            synchronized (queue) {
                ArrayList<IdleHandler> now = (ArrayList<IdleHandler>) field.get(queue);
                before.clear();
                for (IdleHandler handler : now) {
                    before.add(handler instanceof Told ? ((Told) handler).handler : handler);
                }
                field.set(queue, before);
            }
        } catch (Throwable denied) {
            // The wrappers stay; what they tell is dropped.
        }
        queue = null;
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
            depth++;
            begin(name);
            try {
                return handler.queueIdle();
            } finally {
                end();
                depth--;
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
