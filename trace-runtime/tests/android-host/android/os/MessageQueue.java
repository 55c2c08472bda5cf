package android.os;

import android.util.Printer;
import host.Clock;
import java.util.ArrayList;

public final class MessageQueue {
    Message mMessages;
    /** By its own name, since who follows idle handlers looks for it. */
    private final ArrayList<IdleHandler> mIdleHandlers = new ArrayList<IdleHandler>();
    private IdleHandler[] mPendingIdleHandlers;
    private final boolean mQuitAllowed;
    private boolean quitting;
    private int nextBarrier;

    public interface IdleHandler {
        boolean queueIdle();
    }

    MessageQueue(boolean quitAllowed) {
        mQuitAllowed = quitAllowed;
        Clock.waitsForTime(this);
    }

    public void addIdleHandler(IdleHandler handler) {
        if (handler == null) {
            throw new NullPointerException("Can't add a null IdleHandler");
        }
        synchronized (this) {
            mIdleHandlers.add(handler);
        }
    }

    public void removeIdleHandler(IdleHandler handler) {
        synchronized (this) {
            mIdleHandlers.remove(handler);
        }
    }

    public boolean isIdle() {
        synchronized (this) {
            return mMessages == null || SystemClock.uptimeMillis() < mMessages.when;
        }
    }

    boolean enqueueMessage(Message message, long when) {
        synchronized (this) {
            if (quitting) {
                return false;
            }
            message.inUse = true;
            message.when = when;
            Message before = null;
            Message at = mMessages;
            while (at != null && when != 0 && at.when <= when) {
                before = at;
                at = at.next;
            }
            insert(before, message, at);
            notifyAll();
        }
        return true;
    }

    private void insert(Message before, Message message, Message after) {
        message.next = after;
        if (before == null) {
            mMessages = message;
        } else {
            before.next = message;
        }
    }

    /** Only messages that are asynchronous pass a barrier. */
    public int postSyncBarrier() {
        synchronized (this) {
            Message barrier = Message.obtain();
            barrier.when = SystemClock.uptimeMillis();
            barrier.arg1 = ++nextBarrier;
            Message before = null;
            Message at = mMessages;
            while (at != null && at.when <= barrier.when) {
                before = at;
                at = at.next;
            }
            insert(before, barrier, at);
            return barrier.arg1;
        }
    }

    public void removeSyncBarrier(int token) {
        synchronized (this) {
            Message before = null;
            for (Message at = mMessages; at != null; before = at, at = at.next) {
                if (at.target == null && at.arg1 == token) {
                    unlink(before, at);
                    notifyAll();
                    return;
                }
            }
        }
        throw new IllegalStateException("The specified message queue synchronization barrier token has not been posted");
    }

    private void unlink(Message before, Message at) {
        if (before == null) {
            mMessages = at.next;
        } else {
            before.next = at.next;
        }
        at.next = null;
    }

    /** The next message, null once the looper was asked to quit. */
    Message next() {
        int pendingIdle = -1;
        while (true) {
            synchronized (this) {
                Message before = null;
                Message at = mMessages;
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
                if (pendingIdle < 0 && (mMessages == null || now < mMessages.when)) {
                    pendingIdle = mIdleHandlers.size();
                }
                if (pendingIdle <= 0) {
                    waitFor(at == null ? -1 : at.when - now);
                    continue;
                }
                mPendingIdleHandlers = mIdleHandlers.toArray(new IdleHandler[pendingIdle]);
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
        }
    }

    /** Waits with the monitor held; {@code ms} < 0: until something comes. */
    private void waitFor(long ms) {
        try {
            if (!Clock.isVirtual()) {
                if (ms < 0) {
                    wait();
                } else {
                    wait(ms);
                }
            } else if (ms >= 0 && Looper.myLooper() == Looper.getMainLooper()) {
                Clock.advance(ms);
            } else {
                wait();
            }
        } catch (InterruptedException interrupted) {
            // As poll(2) would: looks again.
        }
    }

    void quit(boolean safe) {
        if (!mQuitAllowed) {
            throw new IllegalStateException("Main thread not allowed to quit.");
        }
        synchronized (this) {
            quitting = true;
            if (!safe) {
                mMessages = null;
            }
            notifyAll();
        }
    }

    void remove(Handler target, Runnable callback, int what, boolean all) {
        synchronized (this) {
            Message before = null;
            for (Message at = mMessages; at != null; ) {
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
        synchronized (this) {
            for (Message at = mMessages; at != null; at = at.next) {
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

    void dump(Printer printer, String prefix) {
        synchronized (this) {
            long now = SystemClock.uptimeMillis();
            int count = 0;
            for (Message at = mMessages; at != null; at = at.next) {
                printer.println(prefix + "Message " + count + ": " + at.toString(now));
                count++;
            }
            printer.println(prefix + "(Total messages: " + count + ", polling=" + (count == 0) + ", quitting=" + quitting + ")");
        }
    }
}
