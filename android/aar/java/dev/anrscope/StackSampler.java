package dev.anrscope;

import android.os.Build;
import android.os.Debug;
import android.os.Looper;
import android.os.Process;

/**
 * The thread that takes main's stack when the library requests it, which happens only during a stall or an ANR.
 *
 * <p>Nothing here runs app code or takes a lock that the app can hold.
 */
final class StackSampler implements Runnable {
    /** Number of recorded frames per stack: the innermost. */
    private static final int MAX_FRAMES = 512;

    /**
     * From Android 15 on ART waits three times as long for a thread to stop if the thread that asks has a priority
     * below normal (AOSP main, {@code art/runtime/thread_list.cc}, {@code WaitForSuspendBarrier}).
     */
    private static final int PATIENT_SDK = 35;

    /** Bit in a request: memory and the waiting messages are requested, too. */
    private static final int WITH_MEMORY = 1;

    /** Bit in a request: main's stack may be taken now. */
    private static final int WITH_STACK = 2;

    /** Bit in a request: nothing but a trace of the whole system is requested. */
    private static final int SYSTEM_TRACE = 4;

    /** Requests a system trace, on a thread of its own; null unless the platform accepts such requests. Set by any thread. */
    static volatile Runnable tracer;

    private static Thread thread;
    /** It failed, and is not started again in this process. */
    private static boolean failed;

    private StackSampler() {}

    static synchronized void start() {
        if (thread == null && !failed) {
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

    /** The sampler of this process is off for good. */
    private static synchronized void fail(Throwable fault) {
        failed = true;
        stop();
        notice("main's stack is sampled no more: " + fault.getClass().getName());
    }

    @Override
    public void run() {
        try {
            if (Build.VERSION.SDK_INT >= PATIENT_SDK) {
                Process.setThreadPriority(Process.THREAD_PRIORITY_LESS_FAVORABLE);
            }
            long request;
            while ((request = next()) != 0) {
                if ((request & SYSTEM_TRACE) != 0) {
                    trace();
                } else {
                    take(request);
                }
            }
        } catch (Throwable fault) {
            try {
                fail(fault);
            } catch (Throwable again) {
                // Samples are then missing, and the app continues undisturbed.
            }
        }
    }

    private static void trace() {
        Runnable trace = tracer;
        if (trace != null) {
            new Thread(trace, "anrscope-trace").start();
        }
    }

    /** Answers with what was found; an error ends the sampler after that. */
    private static void take(long request) throws Throwable {
        String state = null;
        String stack = null;
        String pending = null;
        long took = 0;
        long dalvik = 0;
        long heap = 0;
        boolean debugger = false;
        Throwable fault = null;
        try {
            Looper looper = Looper.getMainLooper();
            Thread main = looper.getThread();
            if ((request & WITH_STACK) != 0) {
                long begin = System.nanoTime();
                StackTraceElement[] frames = main.getStackTrace();
                took = System.nanoTime() - begin;
                stack = text(frames);
            }
            state = main.getState().name();
            debugger = Debug.isDebuggerConnected();
            if ((request & WITH_MEMORY) != 0) {
                Runtime runtime = Runtime.getRuntime();
                dalvik = runtime.totalMemory() - runtime.freeMemory() >> 10;
                heap = Debug.getNativeHeapAllocatedSize() >> 10;
                pending = WaitingMessages.read(looper);
            }
        } catch (Throwable thrown) {
            fault = thrown;
        }
        Components.describe();
        answer(request, state, stack, took, debugger, dalvik, heap, pending);
        if (fault == null && Build.VERSION.SDK_INT >= PlatformStatus.SDK) {
            PlatformStatus.poll();
        }
        if (fault != null) {
            throw fault;
        }
    }

    /** One frame per line, in the form of {@code StackTraceElement} without class loader and module. */
    private static String text(StackTraceElement[] frames) {
        StringBuilder text = new StringBuilder(frames.length * 64);
        for (int at = 0; at < frames.length && at < MAX_FRAMES; at++) {
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

    private static native void begin();

    /** Waits for a request; returns its number and the bits above. 0 after {@link #end}. */
    private static native long next();

    /** {@code tookNs}: how long main took to stop for its stack, 0 if it was not stopped. */
    private static native void answer(
            long request,
            String state,
            String stack,
            long tookNs,
            boolean debugger,
            long dalvikKib,
            long nativeKib,
            String pending);

    private static native void end();

    static native void notice(String text);
}
