package android.os;

import android.util.Printer;

public final class Looper {
    private static final ThreadLocal<Looper> LOOPERS = new ThreadLocal<Looper>();
    private static Looper mainLooper;

    final MessageQueue mQueue;
    final Thread mThread;
    /** Simulates a system that accepts a Printer and never calls it. */
    public static volatile boolean hostCallsNoPrinter;

    /** Has AOSP's name, since the library reads it. */
    private Printer mLogging;
    /** Whether main's looper may quit: a test has to end. */
    public static volatile boolean hostMainMayQuit = true;

    private Looper(boolean quitAllowed) {
        mQueue = new MessageQueue(quitAllowed);
        mThread = Thread.currentThread();
    }

    public static void prepare() {
        prepare(true);
    }

    private static void prepare(boolean quitAllowed) {
        if (LOOPERS.get() != null) {
            throw new RuntimeException("Only one Looper may be created per thread");
        }
        LOOPERS.set(new Looper(quitAllowed));
    }

    public static void prepareMainLooper() {
        prepare(hostMainMayQuit);
        synchronized (Looper.class) {
            if (mainLooper != null) {
                throw new IllegalStateException("The main Looper has already been prepared.");
            }
            mainLooper = myLooper();
        }
    }

    public static Looper getMainLooper() {
        synchronized (Looper.class) {
            return mainLooper;
        }
    }

    public static Looper myLooper() {
        return LOOPERS.get();
    }

    public static MessageQueue myQueue() {
        return myLooper().mQueue;
    }

    public Thread getThread() {
        return mThread;
    }

    /** API 23. */
    public MessageQueue getQueue() {
        return mQueue;
    }

    /** API 23. */
    public boolean isCurrentThread() {
        return Thread.currentThread() == mThread;
    }

    public void setMessageLogging(Printer printer) {
        mLogging = printer;
    }

    public void quit() {
        mQueue.quit(false);
    }

    public void quitSafely() {
        mQueue.quit(true);
    }

    public static void loop() {
        Looper me = myLooper();
        if (me == null) {
            throw new RuntimeException("No Looper; Looper.prepare() wasn't called on this thread.");
        }
        while (loopOnce(me)) {}
    }

    private static boolean loopOnce(Looper me) {
        Message message = me.mQueue.next();
        if (message == null) {
            return false;
        }
        // Both lines of one message go to the same Printer.
        Printer logging = hostCallsNoPrinter ? null : me.mLogging;
        if (logging != null) {
            logging.println(">>>>> Dispatching to " + message.target + " " + message.callback + ": " + message.what);
        }
        message.target.dispatchMessage(message);
        if (logging != null) {
            logging.println("<<<<< Finished to " + message.target + " " + message.callback);
        }
        message.recycleUnchecked();
        return true;
    }

    /** Runs messages until none is due, without waiting: for tests that go step by step. */
    public static void hostRunDue() {
        Looper me = myLooper();
        while (true) {
            if (!me.mQueue.hostIsDue() || !loopOnce(me)) {
                return;
            }
        }
    }

    public void dump(Printer printer, String prefix) {
        printer.println(prefix + toString());
        mQueue.dump(printer, prefix + "  ");
    }

    @Override
    public String toString() {
        return "Looper (" + mThread.getName() + ", tid " + mThread.getId() + ") {"
                + Integer.toHexString(System.identityHashCode(this)) + "}";
    }
}
