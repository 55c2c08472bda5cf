package dev.anrscope;

import android.app.Activity;
import android.app.ActivityThread;
import android.app.Application;
import android.os.Handler;
import android.os.Looper;
import android.os.SystemClock;
import host.Clock;
import java.util.concurrent.locks.LockSupport;

/** Base of the app cases: runs an app's process step by step. */
final class AppScript {
    /** An activity whose class is instrumented: its create and focus are recorded. */
    static class Page extends Activity {
        private final int id;
        private final long createMs;

        Page(int id, long createMs) {
            this.id = id;
            this.createMs = createMs;
        }

        @Override
        protected void onCreate(android.os.Bundle state) {
            MethodBeat.i(id);
            super.onCreate(state);
            if (createMs > 0) {
                SystemClock.sleep(createMs);
            }
            MethodBeat.o(id);
        }

        /** It handles the events that its views leave. */
        @Override
        public boolean onTouchEvent(android.view.MotionEvent event) {
            return true;
        }

        @Override
        public void onWindowFocusChanged(boolean gained) {
            MethodBeat.at(this, gained);
            super.onWindowFocusChanged(gained);
        }
    }

    static final class Splash extends Page {
        Splash() {
            super(10, 0);
        }
    }

    static final class Home extends Page {
        Home() {
            super(11, 0);
        }

        Home(long createMs) {
            super(11, createMs);
        }
    }

    static final class Detail extends Page {
        Detail() {
            super(12, 0);
        }
    }

    /** A provider of the app that its manifest declares for another process. */
    private static final class PushStart extends StartProvider {}

    /** The app of a case. */
    static final class App extends Application {
        private final Runnable create;

        App(Runnable create) {
            this.create = create;
        }

        @Override
        public void onCreate() {
            MethodBeat.i(1);
            super.onCreate();
            create.run();
            MethodBeat.o(1);
        }
    }

    final ActivityThread thread;
    final App app;
    private final Handler main;
    private final java.util.ArrayDeque<Step> steps = new java.util.ArrayDeque<>();

    private static final class Step {
        final long afterMs;
        final Runnable work;

        Step(long afterMs, Runnable work) {
            this.afterMs = afterMs;
            this.work = work;
        }
    }

    /** Main's looper exists, and the application is being created; {@code create} is its {@code onCreate}. */
    AppScript(boolean virtual, Runnable create) {
        MethodBeat.i(2);
        MethodBeat.o(2);
        if (virtual) {
            // Starts at real time, at which the recorder has started.
            Clock.virtual(System.nanoTime() / 1_000_000L + 1);
        }
        app = new App(create);
        boolean push = System.getProperty("anrscope.name", "").endsWith(":push");
        thread = ActivityThread.hostMain(app, push ? new PushStart() : new StartProvider());
        main = new Handler();
    }

    /** Runs a step this long after the end of the previous step; what that one posted comes first. */
    AppScript then(long ms, Runnable work) {
        steps.add(new Step(ms, work));
        return this;
    }

    /** Runs the next step once this is true; main continues meanwhile, for half a minute at most. */
    AppScript until(String what, java.util.function.BooleanSupplier so) {
        long[] end = new long[1];
        Runnable[] check = new Runnable[1];
        check[0] =
                () -> {
                    if (end[0] == 0) {
                        end[0] = System.nanoTime() + 30_000_000_000L;
                    }
                    if (!so.getAsBoolean()) {
                        if (System.nanoTime() > end[0]) {
                            throw new AssertionError("in vain: " + what);
                        }
                        steps.addFirst(new Step(2, check[0]));
                    }
                };
        return then(1, check[0]);
    }

    private void next() {
        Step step = steps.poll();
        if (step != null) {
            main.postDelayed(
                    () -> {
                        step.work.run();
                        next();
                    },
                    step.afterMs);
        }
    }

    /** Launches it; it gets the focus 100 ms later. */
    AppScript show(long ms, Activity activity) {
        then(ms, () -> thread.hostLaunch(activity, true));
        return focus(100, activity, true);
    }

    AppScript focus(long ms, Activity activity, boolean gained) {
        return then(ms, () -> thread.hostFocus(activity, gained));
    }

    /** Another app comes in front of it. */
    AppScript leave(long ms, Activity activity) {
        focus(ms, activity, false);
        then(1, () -> thread.hostPause(activity));
        return then(20, () -> thread.hostStop(activity));
    }

    /** Main runs all steps. */
    void run(long ms) {
        then(ms, () -> Looper.myLooper().quit());
        next();
        Looper.loop();
    }

    /** SIGKILL: unlike after an exit or a halt, no code of the process runs after it. */
    static void die() {
        System.out.flush();
        try {
            new ProcessBuilder("kill", "-9", String.valueOf(ProcessHandle.current().pid())).start();
            Thread.sleep(30_000);
        } catch (java.io.IOException | InterruptedException fault) {
            throw new AssertionError(fault);
        }
        throw new AssertionError("still alive");
    }

    /** Real time: waits on main until this is true, for half a minute at most. */
    static void await(String what, java.util.function.BooleanSupplier so) {
        long end = System.nanoTime() + 30_000_000_000L;
        while (!so.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("in vain: " + what);
            }
            LockSupport.parkNanos(1_000_000);
        }
    }
}
