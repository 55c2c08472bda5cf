package android.os;

import android.util.Printer;

public class Handler {
    final Looper mLooper;
    final MessageQueue mQueue;
    /** Overridden to intercept a Handler's messages. */
    final Callback mCallback;
    final boolean mAsynchronous;

    public interface Callback {
        boolean handleMessage(Message message);
    }

    public Handler() {
        this(Looper.myLooper(), null, false);
    }

    public Handler(Callback callback) {
        this(Looper.myLooper(), callback, false);
    }

    public Handler(Looper looper) {
        this(looper, null, false);
    }

    public Handler(Looper looper, Callback callback) {
        this(looper, callback, false);
    }

    public Handler(Looper looper, Callback callback, boolean async) {
        if (looper == null) {
            throw new RuntimeException("Can't create handler inside a thread that has not called Looper.prepare()");
        }
        mLooper = looper;
        mQueue = looper.mQueue;
        mCallback = callback;
        mAsynchronous = async;
    }

    public void handleMessage(Message message) {}

    public void dispatchMessage(Message message) {
        if (message.callback != null) {
            message.callback.run();
            return;
        }
        if (mCallback != null && mCallback.handleMessage(message)) {
            return;
        }
        handleMessage(message);
    }

    public final Looper getLooper() {
        return mLooper;
    }

    public final Message obtainMessage() {
        return Message.obtain(this);
    }

    public final Message obtainMessage(int what) {
        return Message.obtain(this, what);
    }

    public final Message obtainMessage(int what, Object obj) {
        return Message.obtain(this, what, obj);
    }

    public final boolean post(Runnable run) {
        return sendMessageDelayed(Message.obtain(this, run), 0);
    }

    public final boolean postDelayed(Runnable run, long delayMs) {
        return sendMessageDelayed(Message.obtain(this, run), delayMs);
    }

    public final boolean postAtTime(Runnable run, long uptimeMs) {
        return sendMessageAtTime(Message.obtain(this, run), uptimeMs);
    }

    public final boolean postAtFrontOfQueue(Runnable run) {
        return sendMessageAtFrontOfQueue(Message.obtain(this, run));
    }

    public final boolean sendEmptyMessage(int what) {
        return sendMessageDelayed(Message.obtain(this, what), 0);
    }

    public final boolean sendEmptyMessageDelayed(int what, long delayMs) {
        return sendMessageDelayed(Message.obtain(this, what), delayMs);
    }

    public final boolean sendMessage(Message message) {
        return sendMessageDelayed(message, 0);
    }

    public final boolean sendMessageDelayed(Message message, long delayMs) {
        return sendMessageAtTime(message, SystemClock.uptimeMillis() + Math.max(0, delayMs));
    }

    public boolean sendMessageAtTime(Message message, long uptimeMs) {
        message.target = this;
        if (mAsynchronous) {
            message.asynchronous = true;
        }
        return mQueue.enqueueMessage(message, uptimeMs);
    }

    public final boolean sendMessageAtFrontOfQueue(Message message) {
        return sendMessageAtTime(message, 0);
    }

    public final void removeCallbacks(Runnable run) {
        mQueue.remove(this, run, 0, false);
    }

    public final void removeMessages(int what) {
        mQueue.remove(this, null, what, false);
    }

    public final void removeCallbacksAndMessages(Object token) {
        mQueue.remove(this, null, 0, true);
    }

    public final boolean hasMessages(int what) {
        return mQueue.has(this, null, what);
    }

    public final boolean hasCallbacks(Runnable run) {
        return mQueue.has(this, run, 0);
    }

    public final void dump(Printer printer, String prefix) {
        printer.println(prefix + this + " @ " + SystemClock.uptimeMillis());
        mLooper.dump(printer, prefix + "  ");
    }

    @Override
    public String toString() {
        return "Handler (" + getClass().getName() + ") {" + Integer.toHexString(System.identityHashCode(this)) + "}";
    }
}
