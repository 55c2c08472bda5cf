package android.os;

import android.util.Printer;
import host.Clock;
import host.HiddenApi;
import java.io.FileDescriptor;
import java.util.ArrayList;
import java.util.List;

/**
 * AOSP's core/java/android/os/MessageQueue.java. What calls Java from native code runs inside of {@link
 * #nativePollOnce}, in no message (all levels: core/jni/android_os_MessageQueue.cpp, libutils/Looper.cpp pollInner):
 * input ({@code InputEventReceiver}), vsyncs ({@code DisplayEventReceiver}), sensors, listeners of file descriptors
 * (API 23).
 *
 * <p>From API 37 on it is the DeliQueue of core/java/android/os/CombinedDeliMessageQueue/MessageQueue.java
 * (USE_NEW_MESSAGEQUEUE, for apps with target 37): {@code mMessages} is null, the queue's monitor guards nothing, idle
 * handlers have a lock of their own.
 */
public final class MessageQueue {
    /** Whether main waits in native code; without the library it waits in Java. */
    private static final boolean NATIVE;

    static {
        String library = System.getProperty("android.host.native");
        NATIVE = library != null;
        if (NATIVE) {
            System.load(library);
        }
        // The lock has no @UnsupportedAppUsage, so it is on the list; mMessages has maxTargetSdk BAKLAVA (36) there.
        HiddenApi.deny(
                MessageQueue.class,
                Build.VERSION.SDK_INT >= 37
                        ? new String[] {"mMessages", "mIdleHandlersLock", "stack"}
                        : new String[] {"mIdleHandlersLock", "stack"});
    }

    /** The head of the queue; null with DeliQueue. */
    Message mMessages;
    /** The head of DeliQueue. */
    private Message stack;
    /** API 37; below there is no such field. */
    private final Object mIdleHandlersLock = new Object();
    /** {@code @UnsupportedAppUsage} on all levels. */
    private final ArrayList<IdleHandler> mIdleHandlers = new ArrayList<IdleHandler>();
    private IdleHandler[] mPendingIdleHandlers;
    private final boolean mQuitAllowed;
    private final long mPtr = NATIVE ? nativeInit() : 0;
    private boolean quitting;
    private int nextBarrier;

    private final boolean deli = Build.VERSION.SDK_INT >= 37;
    /**
     * Guards the messages: the queue itself, which apps and dumps can hold; DeliQueue's structure is lock-free, so no
     * other code can hold this.
     */
    private final Object lock = deli ? new Object() : this;
    private final Object idleLock = deli ? mIdleHandlersLock : this;

    /** What native code will call, in order of time; also guards {@link #woken}. */
    private final List<Native> natives = new ArrayList<Native>();
    private boolean woken;

    private final List<Watched> watched = new ArrayList<Watched>();

    public interface IdleHandler {
        boolean queueIdle();
    }

    /** API 23. */
    public interface OnFileDescriptorEventListener {
        int EVENT_INPUT = 1;
        int EVENT_OUTPUT = 2;
        int EVENT_ERROR = 4;

        int onFileDescriptorEvents(FileDescriptor fd, int events);
    }

    private static final class Native {
        final long atNs;
        final Runnable call;

        Native(long atNs, Runnable call) {
            this.atNs = atNs;
            this.call = call;
        }
    }

    private static final class Watched {
        final FileDescriptor fd;
        final int events;
        final OnFileDescriptorEventListener listener;

        Watched(FileDescriptor fd, int events, OnFileDescriptorEventListener listener) {
            this.fd = fd;
            this.events = events;
            this.listener = listener;
        }
    }

    MessageQueue(boolean quitAllowed) {
        mQuitAllowed = quitAllowed;
        Clock.waitsForTime(
                new Runnable() {
                    @Override
                    public void run() {
                        wake();
                    }
                });
    }

    public void addIdleHandler(IdleHandler handler) {
        if (handler == null) {
            throw new NullPointerException("Can't add a null IdleHandler");
        }
        synchronized (idleLock) {
            mIdleHandlers.add(handler);
        }
    }

    public void removeIdleHandler(IdleHandler handler) {
        synchronized (idleLock) {
            mIdleHandlers.remove(handler);
        }
    }

    /** API 23. */
    public void addOnFileDescriptorEventListener(FileDescriptor fd, int events, OnFileDescriptorEventListener listener) {
        if (Build.VERSION.SDK_INT < 23) {
            throw new NoSuchMethodError("addOnFileDescriptorEventListener");
        }
        synchronized (watched) {
            watched.add(new Watched(fd, events | OnFileDescriptorEventListener.EVENT_ERROR, listener));
        }
    }

    /** API 23. */
    public void removeOnFileDescriptorEventListener(FileDescriptor fd) {
        synchronized (watched) {
            for (int i = watched.size() - 1; i >= 0; i--) {
                if (watched.get(i).fd == fd) {
                    watched.remove(i);
                }
            }
        }
    }

    /** The descriptor is ready: its listener is called from the poll. From any thread. */
    public void hostReady(final FileDescriptor fd, final int events) {
        hostNative(
                0,
                new Runnable() {
                    @Override
                    public void run() {
                        dispatchEvents(fd, events);
                    }
                });
    }

    /** Called from native code (API 23): the listener is invoked outside of the lock. */
    private void dispatchEvents(FileDescriptor fd, int events) {
        Watched of = null;
        synchronized (watched) {
            for (Watched each : watched) {
                if (each.fd == fd && (each.events & events) != 0) {
                    of = each;
                }
            }
        }
        if (of != null && of.listener.onFileDescriptorEvents(fd, events & of.events) == 0) {
            removeOnFileDescriptorEventListener(fd);
        }
    }

    /** Native code calls this from the poll, at this time at the earliest, by {@link Clock#nanos}. From any thread. */
    public void hostNative(long atNs, Runnable call) {
        synchronized (natives) {
            int place = natives.size();
            while (place > 0 && natives.get(place - 1).atNs > atNs) {
                place--;
            }
            natives.add(place, new Native(atNs, call));
        }
        wake();
    }

    public boolean isIdle() {
        synchronized (lock) {
            Message head = head();
            return head == null || SystemClock.uptimeMillis() < head.when;
        }
    }

    /** Whether a message is due: for tests that go step by step. */
    boolean hostIsDue() {
        return !isIdle();
    }

    private Message head() {
        return deli ? stack : mMessages;
    }

    private void head(Message head) {
        if (deli) {
            stack = head;
        } else {
            mMessages = head;
        }
    }

    boolean enqueueMessage(Message message, long when) {
        synchronized (lock) {
            if (quitting) {
                return false;
            }
            message.inUse = true;
            message.when = when;
            Message before = null;
            Message at = head();
            while (at != null && when != 0 && at.when <= when) {
                before = at;
                at = at.next;
            }
            insert(before, message, at);
        }
        wake();
        return true;
    }

    private void insert(Message before, Message message, Message after) {
        message.next = after;
        if (before == null) {
            head(message);
        } else {
            before.next = message;
        }
    }

    /** Only asynchronous messages pass a barrier. */
    public int postSyncBarrier() {
        synchronized (lock) {
            Message barrier = Message.obtain();
            barrier.when = SystemClock.uptimeMillis();
            barrier.arg1 = ++nextBarrier;
            Message before = null;
            Message at = head();
            while (at != null && at.when <= barrier.when) {
                before = at;
                at = at.next;
            }
            insert(before, barrier, at);
            return barrier.arg1;
        }
    }

    public void removeSyncBarrier(int token) {
        synchronized (lock) {
            Message before = null;
            for (Message at = head(); at != null; before = at, at = at.next) {
                if (at.target == null && at.arg1 == token) {
                    unlink(before, at);
                    wake();
                    return;
                }
            }
        }
        throw new IllegalStateException("The specified message queue synchronization barrier token has not been posted");
    }

    private void unlink(Message before, Message at) {
        if (before == null) {
            head(at.next);
        } else {
            before.next = at.next;
        }
        at.next = null;
    }

    /**
     * The next message, null once the looper was asked to quit. The poll comes first each time, without a timeout if no
     * wait is known to be needed.
     */
    Message next() {
        int pendingIdle = -1;
        int timeout = 0;
        while (true) {
            nativePollOnce(mPtr, timeout);
            synchronized (lock) {
                Message before = null;
                Message at = head();
                if (at != null && at.target == null) {
                    do {
                        before = at;
                        at = at.next;
                    } while (at != null && !at.asynchronous);
                }
                long now = SystemClock.uptimeMillis();
                if (at != null && now >= at.when) {
                    unlink(before, at);
                    return at;
                }
                if (quitting) {
                    return null;
                }
                timeout = at == null ? -1 : (int) Math.min(at.when - now, Integer.MAX_VALUE);
                if (!deli && pendingIdle < 0 && (head() == null || now < head().when)) {
                    pendingIdle = mIdleHandlers.size();
                    mPendingIdleHandlers = mIdleHandlers.toArray(new IdleHandler[pendingIdle]);
                }
            }
            if (deli && pendingIdle < 0) {
                synchronized (mIdleHandlersLock) {
                    if (isIdle()) {
                        pendingIdle = mIdleHandlers.size();
                        mPendingIdleHandlers = mIdleHandlers.toArray(new IdleHandler[pendingIdle]);
                    }
                }
            }
            if (pendingIdle <= 0) {
                continue;
            }
            IdleHandler[] pending = mPendingIdleHandlers;
            for (IdleHandler idler : pending) {
                boolean keep = false;
                try {
                    keep = idler.queueIdle();
                } catch (Throwable thrown) {
                    android.util.Log.e("MessageQueue", "IdleHandler threw exception", thrown);
                }
                if (!keep) {
                    removeIdleHandler(idler);
                }
            }
            pendingIdle = 0;
            timeout = 0;
        }
    }

    /**
     * Waits until the queue is woken, for at most {@code timeoutMillis} (negative: without limit), then makes the calls
     * of native code. An exception leaves the poll, as {@code NativeMessageQueue::raiseException} does it.
     */
    private void nativePollOnce(long ptr, int timeoutMillis) {
        long at;
        synchronized (natives) {
            at = natives.isEmpty() ? Long.MAX_VALUE : natives.get(0).atNs;
        }
        long limit = timeoutMillis < 0 ? -1 : timeoutMillis * 1_000_000L;
        if (at != Long.MAX_VALUE) {
            long left = Math.max(0, at - Clock.nanos());
            limit = limit < 0 ? left : Math.min(limit, left);
        }
        if (Clock.isVirtual() || !NATIVE) {
            await(limit);
        } else if (limit != 0) {
            nativePollOnce(ptr, limit);
        }
        for (Native due = due(); due != null; due = due()) {
            due.call.run();
        }
    }

    /** What native code calls now. */
    private Native due() {
        synchronized (natives) {
            woken = false;
            boolean now = !natives.isEmpty() && natives.get(0).atNs <= Clock.nanos();
            return now ? natives.remove(0) : null;
        }
    }

    /** Replaces the native method, for virtual time and for runs without the library. */
    private void await(long limitNs) {
        if (Clock.isVirtual() && limitNs >= 0 && Looper.myLooper() == Looper.getMainLooper()) {
            if (limitNs > 0) {
                Clock.advanceNanos(limitNs);
            }
            return;
        }
        synchronized (natives) {
            try {
                if (woken || limitNs == 0) {
                    return;
                }
                if (limitNs < 0 || Clock.isVirtual()) {
                    natives.wait();
                } else {
                    natives.wait(limitNs / 1_000_000, (int) (limitNs % 1_000_000));
                }
            } catch (InterruptedException interrupted) {
                // Checks again, as poll(2) would.
            }
        }
    }

    private void wake() {
        synchronized (natives) {
            woken = true;
            natives.notifyAll();
        }
        if (NATIVE) {
            nativeWake(mPtr);
        }
    }

    private static native long nativeInit();

    private static native void nativeWake(long ptr);

    /** @param nanos negative: without limit */
    private static native void nativePollOnce(long ptr, long nanos);

    void quit(boolean safe) {
        if (!mQuitAllowed) {
            throw new IllegalStateException("Main thread not allowed to quit.");
        }
        synchronized (lock) {
            quitting = true;
            if (!safe) {
                head(null);
            }
        }
        wake();
    }

    void remove(Handler target, Runnable callback, int what, boolean all) {
        synchronized (lock) {
            Message before = null;
            for (Message at = head(); at != null; ) {
                Message next = at.next;
                if (at.target == target && (all || matches(at, callback, what))) {
                    unlink(before, at);
                } else {
                    before = at;
                }
                at = next;
            }
        }
    }

    boolean has(Handler target, Runnable callback, int what) {
        synchronized (lock) {
            for (Message at = head(); at != null; at = at.next) {
                if (at.target == target && matches(at, callback, what)) {
                    return true;
                }
            }
            return false;
        }
    }

    private static boolean matches(Message message, Runnable callback, int what) {
        return callback != null ? message.callback == callback : message.callback == null && message.what == what;
    }

    /**
     * Describes each message, its {@code obj} in the app's own words. Below API 37 with the queue locked for as long as
     * that takes (MessageQueue.java {@code synchronized (this)}, API 21 to 36); DeliQueue walks a copy
     * (MessageStack.java, API 37).
     */
    void dump(Printer printer, String prefix) {
        if (deli) {
            List<Message> all = new ArrayList<Message>();
            synchronized (lock) {
                for (Message at = head(); at != null; at = at.next) {
                    all.add(at);
                }
            }
            print(printer, prefix, all);
            return;
        }
        synchronized (this) {
            List<Message> all = new ArrayList<Message>();
            for (Message at = head(); at != null; at = at.next) {
                all.add(at);
            }
            print(printer, prefix, all);
        }
    }

    private void print(Printer printer, String prefix, List<Message> all) {
        long now = SystemClock.uptimeMillis();
        for (int at = 0; at < all.size(); at++) {
            printer.println(prefix + "Message " + at + ": " + all.get(at).toString(now));
        }
        int count = all.size();
        printer.println(prefix + "(Total messages: " + count + ", polling=" + (count == 0) + ", quitting=" + quitting + ")");
    }
}
