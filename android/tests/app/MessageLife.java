package dev.anrscope;

import android.os.Handler;
import android.os.Looper;
import android.os.Message;

/** Messages of every kind: with and without callback, nested loops, ones that throw. */
public final class MessageLife {
    private MessageLife() {}

    /** A handler of its own class. */
    private static final class Inbox extends Handler {
        @Override
        public void handleMessage(Message message) {
            MethodBeat.i(100 + message.what);
            if (message.what == 3) {
                // A dialog that runs its own loop.
                sendMessageAtFrontOfQueue(obtainMessage(5));
                sendMessageAtFrontOfQueue(obtainMessage(4));
                try {
                    Looper.loop();
                } catch (Done done) {
                    // The nested loop's last message has no end.
                }
            } else if (message.what == 5) {
                MethodBeat.o(105);
                throw new Done();
            } else if (message.what == 6) {
                MethodBeat.o(106);
                throw new IllegalStateException("swallowed by the code that runs the loop");
            }
            MethodBeat.o(100 + message.what);
        }
    }

    private static final class Done extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /** Its description has changed at its end. */
    private static final class Moody implements Runnable {
        private String name = "Waiting for its turn";

        @Override
        public void run() {
            name = "Done with it";
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /** Does nothing. */
    private static final class Task implements Runnable {
        @Override
        public void run() {}
    }

    public static void main(String[] words) {
        MethodBeat.i(1);
        Looper.prepareMainLooper();
        LooperMonitor.start();
        Handler inbox = new Inbox();
        inbox.sendEmptyMessage(-2);
        Task task = new Task();
        inbox.post(task);
        inbox.sendEmptyMessage(3);
        inbox.sendEmptyMessage(6);
        inbox.post(new Moody());
        inbox.post(
                new Runnable() {
                    @Override
                    public void run() {
                        System.out.print(LooperMonitor.history(200));
                        System.out.println("messages " + LooperMonitor.density(0));
                        LooperMonitor.density(-1);
                        System.out.println("cleared " + LooperMonitor.density(0));
                    }
                });
        inbox.sendEmptyMessage(7);
        System.out.println("task " + Integer.toHexString(System.identityHashCode(task)));
        System.out.println("handler " + Integer.toHexString(System.identityHashCode(inbox)));
        for (int left = 2; left > 0; left--) {
            // As in libraries that catch every exception.
            try {
                Looper.hostRunDue();
                break;
            } catch (IllegalStateException swallowed) {
                System.out.println("swallowed");
            }
        }
        LooperMonitor.stop();
        MethodBeat.o(1);
    }
}
