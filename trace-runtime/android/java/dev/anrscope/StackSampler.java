package dev.anrscope;

import android.os.Debug;
import android.os.Looper;
import android.util.Printer;

/**
 * The thread that takes main's stack when the library asks for it, which it does only while main is stuck or an ANR was found.
 */
final class StackSampler implements Runnable {
    /** Of the messages that wait as much is told, characters. */
    private static final int PENDING = 32768;

    /** Frames of a stack that are told: the innermost. */
    private static final int FRAMES = 512;

    private static Thread thread;

    private StackSampler() {}

    static synchronized void start() {
        if (thread == null) {
            begin();
            thread = new Thread(new StackSampler(), "anrscope-sampler");
            Threads.start(thread);
        }
    }

    static synchronized void stop() {
        if (thread != null) {
            thread = null;
            end();
        }
    }

    @Override
    public void run() {
        long request;
        while ((request = next()) != 0) {
            String state = null;
            String stack = null;
            String pending = null;
            long dalvik = 0;
            long heap = 0;
            try {
                Thread main = Looper.getMainLooper().getThread();
                StackTraceElement[] frames = main.getStackTrace();
                state = main.getState().name();
                stack = text(frames);
                if ((request & 1) != 0) {
                    Runtime runtime = Runtime.getRuntime();
                    dalvik = runtime.totalMemory() - runtime.freeMemory() >> 10;
                    heap = Debug.getNativeHeapAllocatedSize() >> 10;
                    pending = pending();
                }
            } catch (Throwable fault) {
                // What was found is told.
            }
            answer(request, state, stack, Debug.isDebuggerConnected(), dalvik, heap, pending);
        }
    }

    /** A frame a line, as {@code StackTraceElement} writes it, without a class loader or a module in front. */
    private static String text(StackTraceElement[] frames) {
        StringBuilder text = new StringBuilder(frames.length * 64);
        for (int at = 0; at < frames.length && at < FRAMES; at++) {
            StackTraceElement frame = frames[at];
            text.append(frame.getClassName()).append('.').append(frame.getMethodName()).append('(');
            String file = frame.getFileName();
            if (frame.isNativeMethod()) {
                text.append("Native Method");
            } else if (file == null) {
                text.append("Unknown Source");
            } else {
                text.append(file);
                if (frame.getLineNumber() >= 0) {
                    text.append(':').append(frame.getLineNumber());
                }
            }
            text.append(")\n");
        }
        return text.toString();
    }

    private static String pending() {
        final StringBuilder lines = new StringBuilder();
        Looper.getMainLooper()
                .dump(
                        new Printer() {
                            @Override
                            public void println(String line) {
                                if (lines.length() < PENDING) {
                                    lines.append(line).append('\n');
                                }
                            }
                        },
                        "");
        return lines.toString();
    }

    private static native void begin();

    /** Waits for a request: an even number for the stack, an odd one for everything. 0 after {@link #end}. */
    private static native long next();

    private static native void answer(
            long request,
            String state,
            String stack,
            boolean debugger,
            long dalvikKib,
            long nativeKib,
            String pending);

    private static native void end();
}
