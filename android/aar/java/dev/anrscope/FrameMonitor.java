package dev.anrscope;

import android.content.Context;
import android.hardware.display.DisplayManager;
import android.os.Build;
import android.os.Handler;
import android.os.HandlerThread;
import android.os.Looper;
import android.os.Message;
import android.view.Choreographer;
import android.view.Display;
import android.view.View;
import android.view.ViewTreeObserver;
import android.view.Window;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.WeakHashMap;

/**
 * Passes what Choreographer, the windows and the display report about frames to the library.
 *
 * <p>Stages, on main: below API 24 from Choreographer's own queues ({@link FrameQueues}); from API 24 on, or where
 * access to them is denied, from public callbacks ({@link FrameCallbacks}). Durations: from API 24 on from the windows'
 * metrics ({@link FrameMetricsShim}), below from the stages. All of it is counted on the thread {@code
 * anrscope-frames}.
 */
final class FrameMonitor implements Handler.Callback, DisplayManager.DisplayListener, ViewTreeObserver.OnPreDrawListener {
    /** The library's numbers for the stages. */
    static final int INPUT = 0;

    static final int ANIMATION = 1;
    static final int TRAVERSAL = 3;
    static final int COMMIT = 4;

    /**
     * Delay until frames that main finished are counted, in one batch: main wakes the thread at most five times per
     * second.
     */
    private static final long COUNT_AFTER_MS = 200;

    private static final int COUNT = 1;
    private static final int FLUSH = 2;
    private static final int QUIT = 3;

    /** Values per frame: 14 of FrameMetrics, then the arguments for observers. */
    private static final int NUMBERS = 23;

    private static final int SCENE = 14;

    private static FrameMonitor only;

    private final Context context;
    private final HandlerThread thread =
            new HandlerThread("anrscope-frames") {
                @Override
                protected void onLooperPrepared() {
                    own = new Handler(Looper.myLooper(), FrameMonitor.this);
                    display();
                }
            };
    /** Used by main; see {@link #handler}. */
    private Handler handler;
    /** Used by the frames thread. */
    private Handler own;

    /** Null until the first activity; see {@link #attach}. */
    private Choreographer choreographer;
    /** Used by the frames thread. */
    private DisplayManager displays;
    /** Null if the queues are not used. */
    private FrameQueues queues;
    /** Null if the queues are used. */
    private FrameCallbacks callbacks;
    /** Each followed window with its metrics listener; null below API 24. */
    private final WeakHashMap<Window, WindowMetrics> windows = new WeakHashMap<Window, WindowMetrics>();

    /**
     * Root views of the windows, for {@link #isWaiting}, which allocates nothing. A dialog's root disappears with the
     * dialog.
     */
    private WeakReference<?>[] roots = {};

    private volatile boolean willCount;
    /** Used by the frames thread only. */
    private final long[] numbers = new long[NUMBERS];

    private int lastScene;
    private String lastName;

    private FrameMonitor(Context context) {
        this.context = context;
        Threads.start(thread);
    }

    /**
     * Starts the monitor; on main.
     *
     * @param activity whether an activity exists or existed
     */
    static void start(Context context, boolean activity) {
        if (only != null) {
            return;
        }
        api(Build.VERSION.SDK_INT);
        only = new FrameMonitor(context);
        if (activity) {
            only.attach();
        }
    }

    /** An activity is created: frames will follow. */
    static void created() {
        if (only != null) {
            only.attach();
        }
    }

    /**
     * Follows Choreographer from now on. This waits for the first activity: the first {@code getInstance} of a thread
     * asks the system for the display's rate and opens a connection to SurfaceFlinger (AOSP Choreographer and
     * DisplayEventReceiver, API 21 to 36), which a process started for a push or a job would never need.
     */
    private void attach() {
        if (choreographer != null) {
            return;
        }
        choreographer = Choreographer.getInstance();
        queues = Build.VERSION.SDK_INT < 24 ? FrameQueues.of(choreographer) : null;
        if (queues != null) {
            queues.start();
        } else {
            callbacks = new FrameCallbacks(choreographer);
            byMessages(true);
        }
    }

    /** Stops the monitor; on main. Removes its hooks from Choreographer, windows and display. */
    static void stop() {
        FrameMonitor monitor = only;
        if (monitor == null) {
            return;
        }
        Overlay.hide();
        only = null;
        if (monitor.queues != null) {
            monitor.queues.stop();
        } else if (monitor.callbacks != null) {
            byMessages(false);
            monitor.callbacks.stop();
        }
        for (Window window : monitor.windows.keySet().toArray(new Window[0])) {
            monitor.leave(window);
        }
        for (WeakReference<?> root : monitor.roots) {
            View popup = (View) root.get();
            if (popup != null) {
                monitor.unwatch(popup);
            }
        }
        monitor.handler().sendEmptyMessage(COUNT);
        monitor.handler().sendEmptyMessage(FLUSH);
        monitor.handler().sendEmptyMessage(QUIT);
    }

    /** Shows or hides the frame-rate overlay; on main, while the monitor runs. */
    static void overlay(Context context, boolean on) {
        if (on && only != null) {
            Overlay.show(context, only.looper());
        } else {
            Overlay.hide();
        }
    }

    static boolean isRunning() {
        return only != null;
    }

    /** An activity was resumed: follow its window. */
    static void resumed(Window window) {
        if (only != null && window != null && !only.windows.containsKey(window)) {
            only.attach();
            only.follow(window, true);
        }
    }

    /**
     * A dialog's window is shown. Its draws reveal frames and their stages. From API 26 on it has metrics; before, metrics
     * have no vsync, and those of two windows cannot be distinguished.
     */
    static void shown(Window window) {
        if (only != null && only.callbacks != null && !only.windows.containsKey(window)) {
            only.follow(window, Build.VERSION.SDK_INT >= 26);
        }
    }

    /**
     * A view that is a window by itself is shown, such as a popup's. Its draws reveal frames and their stages. It has no
     * metrics: {@code View.addFrameMetricsListener} is hidden (AOSP View.java, API 24 to 34).
     */
    static void shown(View root) {
        if (only != null && only.callbacks != null) {
            only.watch(root);
        }
    }

    /** An activity was paused: report what has been counted. */
    static void paused() {
        if (only != null) {
            only.handler().sendEmptyMessage(COUNT);
            only.handler().sendEmptyMessage(FLUSH);
        }
    }

    /** An activity is destroyed, and its window with it. */
    static void destroyed(Window window) {
        if (only != null && window != null && only.windows.containsKey(window)) {
            only.leave(window);
        }
    }

    /**
     * The message that starts on main is a frame's, and the library already knows it.
     *
     * @param goesOn whether it continues the frame before
     */
    static void message(boolean goesOn) {
        FrameMonitor monitor = only;
        if (monitor != null && monitor.callbacks != null) {
            monitor.callbacks.frame(goesOn, monitor);
            monitor.framed();
        }
    }

    /** A frame starts on main: schedule counting if windows have no metrics. */
    void framed() {
        LooperMonitor.check();
        if (Build.VERSION.SDK_INT < 24 && !willCount) {
            willCount = true;
            handler().sendEmptyMessageDelayed(COUNT, COUNT_AFTER_MS);
        }
    }

    /** As {@link #framed}, for callers without a monitor. */
    static void queued() {
        FrameMonitor monitor = only;
        if (monitor != null) {
            monitor.framed();
        }
    }

    /**
     * The handler for main's messages to the thread. Not created at the start, because that would wait for the thread;
     * by the time anything is drawn, the thread runs.
     */
    private Handler handler() {
        if (handler == null) {
            handler = new Handler(looper(), this);
        }
        return handler;
    }

    private Looper looper() {
        if (!thread.isAlive()) {
            // The thread's start is still deferred.
            Threads.startAll();
        }
        Looper looper = thread.getLooper();
        // Null if there was no memory for the thread.
        return looper == null ? Looper.getMainLooper() : looper;
    }

    private void follow(Window window, boolean figures) {
        WindowMetrics metrics = null;
        if (figures && Build.VERSION.SDK_INT >= 24) {
            metrics = OptionalClasses.make("dev.anrscope.FrameMetricsShim", WindowMetrics.class);
        }
        windows.put(window, metrics != null && metrics.add(window, handler(), this) ? metrics : null);
        View decor = window.peekDecorView();
        if (callbacks != null && decor != null) {
            watch(decor);
        }
    }

    /** Watches a root view's draws, if it is not watched. */
    private void watch(View root) {
        for (WeakReference<?> known : roots) {
            if (known.get() == root) {
                return;
            }
        }
        root.getViewTreeObserver().addOnPreDrawListener(this);
        ArrayList<WeakReference<?>> all = others(root);
        all.add(new WeakReference<View>(root));
        roots = all.toArray(new WeakReference<?>[0]);
    }

    /** Whether a window waits to be drawn. */
    boolean isWaiting() {
        WeakReference<?>[] all = roots;
        for (int at = 0; at < all.length; at++) {
            View root = (View) all[at].get();
            // One that was dismissed, which has no window's token, may ask for a layout for ever.
            if (root != null && root.getWindowToken() != null && (root.isDirty() || root.isLayoutRequested())) {
                return true;
            }
        }
        return false;
    }

    /** The root views that still exist, without this one. */
    private ArrayList<WeakReference<?>> others(View than) {
        ArrayList<WeakReference<?>> others = new ArrayList<WeakReference<?>>();
        for (WeakReference<?> root : roots) {
            if (root.get() != null && root.get() != than) {
                others.add(root);
            }
        }
        return others;
    }

    private void leave(Window window) {
        WindowMetrics metrics = windows.remove(window);
        if (metrics != null) {
            metrics.remove(window);
        }
        View decor = window.peekDecorView();
        if (callbacks != null && decor != null) {
            unwatch(decor);
        }
    }

    private void unwatch(View root) {
        roots = others(root).toArray(new WeakReference<?>[0]);
        try {
            root.getViewTreeObserver().removeOnPreDrawListener(this);
        } catch (IllegalStateException gone) {
            // Removed together with the views.
        }
    }

    /** Views are about to be drawn. This marks the stage if nothing else has. */
    @Override
    public boolean onPreDraw() {
        if (callbacks != null) {
            callbacks.drawn();
        }
        drawn();
        LooperMonitor.check();
        return true;
    }

    /** On the frames thread. */
    @Override
    public boolean handleMessage(Message message) {
        try {
            handle(message);
        } catch (Throwable theirs) {
            // The system service may be gone; that must not end the app.
        }
        return true;
    }

    private void handle(Message message) {
        switch (message.what) {
            case COUNT:
                willCount = false;
                count();
                break;
            case FLUSH:
                flush();
                break;
            case QUIT:
                thread.quit();
                if (displays != null) {
                    displays.unregisterDisplayListener(this);
                }
                break;
            default:
        }
    }

    private void count() {
        while (true) {
            switch (next(numbers)) {
                case 0:
                    return;
                case 2:
                    notifyObservers(numbers);
                    break;
                case 3:
                    // Main is still in this frame.
                    later();
                    return;
                default:
            }
        }
    }

    /** On the frames thread. */
    private void later() {
        if (!willCount) {
            willCount = true;
            own.sendEmptyMessageDelayed(COUNT, COUNT_AFTER_MS);
        }
    }

    /**
     * Takes the metrics of a window's frame; on the frames thread.
     *
     * @param of an array with room for all values
     * @param lost number of frames of this window, since the one before, whose metrics the system dropped
     */
    void windowFrame(long[] of, int lost) {
        measured(of, lost);
        count();
    }

    static long[] room() {
        return new long[NUMBERS];
    }

    private void notifyObservers(long[] of) {
        if (Observers.none()) {
            return;
        }
        int scene = (int) of[SCENE];
        if (lastName == null || scene != lastScene) {
            lastScene = scene;
            lastName = scene(scene);
        }
        Observers.frame(lastName, of[15], of[16], of[17], of[18], of[19], of[20]);
        if (of[22] != 0) {
            Observers.droppedFrames(lastName, (int) of[21]);
        }
    }

    @Override
    public void onDisplayAdded(int displayId) {}

    @Override
    public void onDisplayRemoved(int displayId) {}

    /** The refresh rate may have changed. */
    @Override
    public void onDisplayChanged(int displayId) {
        if (displayId == Display.DEFAULT_DISPLAY) {
            try {
                rate();
            } catch (Throwable theirs) {
                // Keep the previous rate.
            }
        }
    }

    /** The thread starts: system calls that main must not make. */
    private void display() {
        try {
            listen();
        } catch (Throwable theirs) {
            // Assume 60 Hz.
        }
    }

    private void listen() {
        displays = (DisplayManager) context.getSystemService(Context.DISPLAY_SERVICE);
        if (displays != null) {
            displays.registerDisplayListener(this, own);
            rate();
        }
    }

    private void rate() {
        Display display = displays.getDisplay(Display.DEFAULT_DISPLAY);
        if (display != null) {
            refresh(display.getRefreshRate());
        }
    }

    private static native void api(int level);

    private static native void byMessages(boolean on);

    /** @param intendedNs the frame's vsync by {@code System.nanoTime}'s clock, 0 if unknown */
    static native void frame(long intendedNs, boolean estimated);

    static native void stage(int stage, long intendedNs, boolean estimated);

    private static native void drawn();

    static native void inputEvents(long oldestNs, long newestNs);

    private static native void refresh(float hz);

    private static native int next(long[] numbers);

    private static native void measured(long[] numbers, int lost);

    private static native void flush();

    private static native String scene(int id);
}
