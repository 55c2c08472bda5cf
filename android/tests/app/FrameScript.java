package dev.anrscope;

import android.app.Application;
import android.content.Context;
import android.hardware.display.DisplayManager;
import android.os.Handler;
import android.os.HandlerThread;
import android.os.Looper;
import android.view.Choreographer;
import host.Clock;
import host.HostApp;
import host.HostWindow;
import host.HostWindows;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Base of the frame cases: a process with one window, whose views are drawn as often as requested. */
final class FrameScript {
    static final String PAGE = "com.example.Page";

    final DisplayManager displays = new DisplayManager();
    final HostWindows windows = new HostWindows();
    final Application app = new Application() {};
    final Choreographer choreographer;
    final HostWindow window;
    final Handler main;
    /** Reports of this detail have arrived. */
    volatile String reports = "";

    private int left;
    private Runnable work;
    /** Each frame requests the next one before its own work, or after it: then none is late. */
    boolean askFirst = true;
    private Runnable then;

    /** {@code virtualMs} negative: time is real. */
    FrameScript(long virtualMs) {
        MethodBeat.i(1);
        MethodBeat.o(1);
        if (virtualMs >= 0) {
            Clock.virtual(virtualMs);
        }
        Looper.prepareMainLooper();
        HostApp.SERVICES.put(Context.DISPLAY_SERVICE, displays);
        HostApp.SERVICES.put(Context.WINDOW_SERVICE, windows);
        choreographer = Choreographer.getInstance();
        window = new HostWindow(app);
        main = new Handler();
        Reports.start(
                new IssueListener() {
                    @Override
                    public void onIssue(String json) {
                        System.out.println("issue " + json);
                        reports += json;
                    }
                });
        LooperMonitor.start();
    }

    /** Frames are followed from now on, and the page is in front. */
    FrameScript start() {
        FrameMonitor.start(app, true);
        page(PAGE);
        FrameMonitor.resumed(window);
        return this;
    }

    static void page(String name) {
        // Started, then resumed.
        step(1, name);
        step(2, name);
    }

    private static void step(int step, String name) {
        try {
            Method method = Lifecycle.class.getDeclaredMethod("step", int.class, int.class, String.class, long.class);
            method.setAccessible(true);
            method.invoke(null, step, name.hashCode(), name, Clock.nanos());
        } catch (ReflectiveOperationException changed) {
            throw new AssertionError(changed);
        }
    }

    /** Draws this many frames from the next message on, one after the other; each runs this. */
    FrameScript draw(int frames, Runnable work) {
        left = frames;
        this.work = work;
        window.getDecorView().hostOnDraw =
                new Runnable() {
                    @Override
                    public void run() {
                        drawn();
                    }
                };
        window.getDecorView().invalidate();
        return this;
    }

    /** Runs this when all are drawn. */
    void then(Runnable what) {
        then = what;
    }

    private void drawn() {
        left--;
        if (left > 0 && askFirst) {
            window.getDecorView().invalidate();
        }
        work.run();
        if (left > 0 && !askFirst) {
            window.getDecorView().invalidate();
        }
        if (left == 0 && then != null) {
            main.post(then);
        }
    }

    static void cost(long ns) {
        if (Clock.isVirtual()) {
            Clock.advanceNanos(ns);
            return;
        }
        long end = System.nanoTime() + ns;
        while (System.nanoTime() < end) {
            Thread.yield();
        }
    }

    /** Main runs until {@link #quit}; then everything ends normally. */
    void run() {
        Looper.loop();
        FrameMonitor.paused();
        FrameMonitor.stop();
        LooperMonitor.stop();
        join("anrscope-frames");
        Reports.stop();
        join("anrscope-reports");
    }

    /** Waits until the frames thread has handled what is due by now: virtual time does not wait for it. */
    static void settle() {
        final CountDownLatch done = new CountDownLatch(1);
        try {
            Object monitor = value(FrameMonitor.class, null, "only");
            HandlerThread thread = (HandlerThread) value(FrameMonitor.class, monitor, "thread");
            new Handler(thread.getLooper()).post(done::countDown);
            if (!done.await(30, TimeUnit.SECONDS)) {
                throw new AssertionError("the thread of frames does not come to an end");
            }
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
    }

    static Object value(Class<?> of, Object in, String name) {
        try {
            Field field = of.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(in);
        } catch (ReflectiveOperationException changed) {
            throw new AssertionError(changed);
        }
    }

    static void quit() {
        Looper.myLooper().quit();
    }

    static void join(String name) {
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().equals(name)) {
                try {
                    thread.join(30_000);
                } catch (InterruptedException never) {
                    throw new AssertionError(never);
                }
                if (thread.isAlive()) {
                    throw new AssertionError(name + " does not end");
                }
            }
        }
    }
}
