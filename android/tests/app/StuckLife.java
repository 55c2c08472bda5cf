package dev.anrscope;

import android.app.ActivityManager;
import android.app.Application;
import android.content.Context;
import android.os.Debug;
import android.os.Handler;
import android.os.Looper;
import android.util.Log;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** A main thread that hangs, in one way per run; prints every report. */
public final class StuckLife {
    private static final Object LOCK = new Object();

    /** Reports during the hang: it lasts until they have arrived. */
    private static CountDownLatch during;

    /** Until main continues. */
    private static final CountDownLatch HUNG = new CountDownLatch(1);

    private StuckLife() {}

    /** The code in which main hangs. */
    private static void priceOf(final long ms) throws Exception {
        MethodBeat.i(201);
        final CountDownLatch held = new CountDownLatch(1);
        Thread holder =
                new Thread("SyncWorker") {
                    @Override
                    public void run() {
                        synchronized (LOCK) {
                            held.countDown();
                            try {
                                during.await(30, TimeUnit.SECONDS);
                                Thread.sleep(ms);
                            } catch (InterruptedException never) {
                                throw new AssertionError(never);
                            }
                        }
                    }
                };
        holder.start();
        held.await();
        synchronized (LOCK) {
            MethodBeat.o(201);
        }
        holder.join();
    }

    private static final class Pay implements Runnable {
        private final long ms;
        private final String how;
        private final String[] limits;

        Pay(long ms, String how, String[] limits) {
            this.ms = ms;
            this.how = how;
            this.limits = limits;
        }

        @Override
        public void run() {
            TestOptions.set(limits, 0, limits.length);
            MethodBeat.i(200);
            try {
                if (how.equals("dying")) {
                    dispatchUncaughtException();
                } else {
                    priceOf(ms);
                }
            } catch (Exception thrown) {
                throw new AssertionError(thrown);
            }
            MethodBeat.o(200);
            HUNG.countDown();
        }

        /** Delegates to the real one: a handler that keeps main busy. */
        private void dispatchUncaughtException() throws Exception {
            Thread.currentThread()
                    .setUncaughtExceptionHandler(
                            new Thread.UncaughtExceptionHandler() {
                                @Override
                                public void uncaughtException(Thread thread, Throwable thrown) {
                                    try {
                                        priceOf(ms);
                                    } catch (Exception never) {
                                        throw new AssertionError(never);
                                    }
                                }
                            });
            java.lang.reflect.Method dispatch =
                    Thread.class.getDeclaredMethod("dispatchUncaughtException", Throwable.class);
            dispatch.setAccessible(true);
            dispatch.invoke(Thread.currentThread(), new RuntimeException("of the app"));
        }
    }

    /**
     * Words: the way; number of reports during the hang, ms that it lasts after them, and number of reports after it;
     * options as KEY=VALUE.
     */
    public static void main(String[] words) throws Exception {
        MethodBeat.i(1);
        Looper.prepareMainLooper();
        final String how = words[0];
        during = new CountDownLatch(Integer.parseInt(words[1]));
        long ms = Long.parseLong(words[2]);
        final CountDownLatch after = new CountDownLatch(Integer.parseInt(words[3]));
        // Limits that are reached soon hold in the message alone: on a busy machine the way there takes as long.
        List<String> limits = new ArrayList<String>();
        List<String> others = new ArrayList<String>();
        for (String word : Arrays.asList(words).subList(4, words.length)) {
            (word.matches("(slow|lag|anr)_ms=.*") ? limits : others).add(word);
        }
        TestOptions.set(others.toArray(new String[0]), 0, others.size());
        Reports.start(
                new IssueListener() {
                    @Override
                    public void onIssue(String json) {
                        System.out.println("issue " + json);
                        (during.getCount() > 0 ? during : after).countDown();
                        throw new IllegalStateException("a listener that throws");
                    }
                });
        Anrscope.setAnrListener(new PrintingListener());
        Debug.hostDebugger = how.equals("debugger");
        Natives.setScene("com.example.CheckoutActivity");
        Handler handler = new Handler();
        handler.post(new Pay(ms, how, limits.toArray(new String[0])));
        handler.sendEmptyMessageDelayed(77, 600000);
        // Already open, and so recent that it could be taken back: nothing that begins later.
        MethodBeat.i(2);
        LooperMonitor.start();
        if (!how.equals("without")) {
            StackSampler.start();
        }
        if (how.equals("sigquit")) {
            host.HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, new ActivityManager());
            ErrorStates.start(new Application());
            sigquitSoon();
        }
        quitAfter(after);
        // Main waits for the reports in its poll: anywhere else it would be work outside of messages.
        Looper.loop();
        boolean all = during.getCount() == 0 && after.getCount() == 0;
        System.out.println("all " + all);
        LooperMonitor.stop();
        StackSampler.stop();
        Reports.stop();
        for (String line : Log.hostLines()) {
            System.out.println("log " + line);
        }
        MethodBeat.o(2);
        MethodBeat.o(1);
    }

    /** Ends main's loop once it continues and these reports came. */
    private static void quitAfter(final CountDownLatch reports) {
        final Looper main = Looper.myLooper();
        new Thread("Quitter") {
            @Override
            public void run() {
                try {
                    HUNG.await();
                    reports.await(30, TimeUnit.SECONDS);
                } catch (InterruptedException never) {
                    throw new AssertionError(never);
                }
                main.quit();
            }
        }.start();
    }

    /** Prints what it receives, and throws. */
    private static final class PrintingListener extends AnrListener {
        @Override
        public void onAnrDetected(Anr anr) {
            System.out.println("anr " + anr.detector() + " " + anr.state() + " " + anr.isForeground() + " " + anr.scene());
            System.out.println("age " + anr.ageMs());
            System.out.println("message " + anr.message());
            System.out.println("thread " + Thread.currentThread().getName());
            System.out.println("memory " + anr.values().containsKey("vm_kib"));
            super.onAnrDetected(anr);
            throw new IllegalStateException("a listener's own fault");
        }

        @Override
        public void onAnrDetected(String stack, String message, long when, boolean listed, String cgroup) {
            System.out.println("stack " + stack.split("\n")[0] + " of " + stack.split("\n").length);
            System.out.println("head " + when + " " + message);
            System.out.println("listed " + listed);
            System.out.println("cgroup " + cgroup);
        }
    }

    /** Once main hangs; from another process, as the system does. */
    private static void sigquitSoon() {
        SystemProcess.run(
                "sender",
                () -> {
                    Thread main = Looper.getMainLooper().getThread();
                    while (main.getState() != Thread.State.BLOCKED) {
                        Thread.sleep(1);
                    }
                    SystemProcess.reportAnr();
                });
    }
}
