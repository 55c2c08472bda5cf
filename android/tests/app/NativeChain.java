package dev.anrscope;

import android.os.Handler;
import android.os.Looper;

/**
 * Main stalls in a generated C library, below callers that a word describes. Words: the directory of the recording, the library, the
 * mode, the route, how many calls come before, for how many ms, options.
 *
 * <p>A route is a caller per letter, the outermost first: {@code a} to {@code d} are Java methods, {@code N} is native code that calls
 * Java back. Prints {@code java CLASS.METHOD} for each Java frame above the native method in which main stalls, the innermost first.
 */
public final class NativeChain {
    private static String route;

    private NativeChain() {}

    /** Runs the inner chain of the library, which prints {@code began NS} and stalls for that many ms; a negative number does nothing. */
    private static native long stuck(long ms);

    /** Runs the outer chain of the library, which calls {@link #back}. */
    private static native long through(int at, long ms);

    /** Locks both mutexes of the library, in this order, each when the other thread has its first. */
    private static native void lockBoth(boolean main);

    /** Starts two threads that are not Java's, which lock both mutexes; the one that is watched beats first. */
    private static native int startNative(boolean deadlock, long ms);

    private static final class Inner {
        long c(int at, long ms) {
            return next(route.charAt(at), at + 1, ms);
        }
    }

    private interface Step {
        long d(int at, long ms);
    }

    private static final class Outer implements Step {
        @Override
        public long d(int at, long ms) {
            return next(route.charAt(at), at + 1, ms);
        }
    }

    private static final Inner INNER = new Inner();
    private static final Step STEP = new Outer();

    private static long next(char caller, int at, long ms) {
        switch (caller) {
            case 'a':
                return a(at, ms);
            case 'b':
                return b(at, ms) + 1;
            case 'c':
                return INNER.c(at, ms);
            case 'd':
                return STEP.d(at, ms);
            case 'N':
                return through(at, ms);
            default:
                return leaf(ms);
        }
    }

    private static long a(int at, long ms) {
        return next(route.charAt(at), at + 1, ms);
    }

    private static synchronized long b(int at, long ms) {
        try {
            return next(route.charAt(at), at + 1, ms);
        } finally {
            done++;
        }
    }

    private static long done;

    private static long back(int at, long ms) {
        return next(route.charAt(at), at + 1, ms);
    }

    private static long leaf(long ms) {
        if (ms >= 0) {
            for (StackTraceElement frame : new Throwable().getStackTrace()) {
                System.out.println("java " + frame.getClassName() + "." + frame.getMethodName());
            }
        }
        return stuck(ms);
    }

    /** The message in which main stalls. A stack of a {@code Throwable} has no frames of lambdas. */
    private static final class Chain implements Runnable {
        private final int before;
        private final long ms;

        Chain(int before, long ms) {
            this.before = before;
            this.ms = ms;
        }

        @Override
        public void run() {
            for (int at = 0; at < before; at++) {
                next(route.charAt(0), 1, -1);
            }
            next(route.charAt(0), 1, ms);
        }
    }

    private static void deadlock() {
        Thread worker = new Thread("CacheWorker") {
            @Override
            public void run() {
                lockBoth(false);
            }
        };
        worker.start();
        System.out.println("hangs");
        lockBoth(true);
    }

    /** A thread of the app that beats, stalls, and beats again. */
    private static void watched(long ms) throws InterruptedException {
        Thread loop = new Thread("GameLoop") {
            @Override
            public void run() {
                for (int at = 0; at < 20; at++) {
                    Anrscope.beat();
                    try {
                        sleep(20);
                    } catch (InterruptedException e) {
                        return;
                    }
                }
                stuck(ms);
                Anrscope.beat();
            }
        };
        loop.start();
        Anrscope.watch(loop, 300);
        loop.join();
    }

    public static void main(String[] words) throws Exception {
        // As on Android, the file is created after the options are known.
        System.setProperty("java.vm.name", "Dalvik");
        // Starts the recorder.
        MethodBeat.i(1);
        MethodBeat.o(1);
        Looper.prepareMainLooper();
        System.load(words[1]);
        String mode = words[2];
        route = words[3] + ' ';
        int before = Integer.parseInt(words[4]);
        long ms = Long.parseLong(words[5]);
        TestOptions.set(words, 6, words.length);
        MethodBeat.destination(words[0]);
        Natives.flush(30000);
        LooperMonitor.start();
        StackSampler.start();
        switch (mode) {
            case "chain":
                new Handler().post(new Chain(before, ms));
                Looper.hostRunDue();
                break;
            case "deadlock":
                new Handler().post(NativeChain::deadlock);
                Looper.hostRunDue();
                break;
            case "watch":
                watched(ms);
                break;
            default:
                System.out.println("watched " + startNative(mode.equals("native-deadlock"), ms));
                System.out.println("hangs");
                Thread.sleep(ms);
        }
        LooperMonitor.stop();
        StackSampler.stop();
        Natives.flush(30000);
    }
}
