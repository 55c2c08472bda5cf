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
 * Carries what Choreographer, the windows and the display tell of frames.
 *
 * <p>Stages, on main: below API 24 from Choreographer's own queues ({@link FrameQueues}); from there on, and where those are denied, from
 * public callbacks ({@link FrameCallbacks}). What frames cost comes from API 24 on from the windows ({@link FrameMetricsShim}), below
 * from the stages themselves; all of that is counted on the thread {@code anrscope-frames}.
 */
final class FrameMonitor implements Handler.Callback, DisplayManager.DisplayListener, ViewTreeObserver.OnPreDrawListener {
    /** The library's numbers of stages. */
    static final int INPUT = 0;

    static final int ANIMATION = 1;
    static final int TRAVERSAL = 3;
    static final int COMMIT = 4;

    /** What main ended is counted this much later, with what came meanwhile: main wakes the thread up five times a second at most. */
    private static final long COUNT_AFTER_MS = 200;

    private static final int COUNT = 1;
    private static final int FLUSH = 2;
    private static final int QUIT = 3;

    /** Numbers of a frame: 14 of FrameMetrics, and then what observers are told. */
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
    /** Main's; see {@link #handler}. */
    private Handler handler;
    /** The thread's. */
    private Handler own;

    /** Null until the first activity; see {@link #attach}. */
    private Choreographer choreographer;
    /** The thread's. */
    private DisplayManager displays;
    /** Null where the queues are not followed. */
    private FrameQueues queues;
    /** Null where they are. */
    private FrameCallbacks callbacks;
    /** Each window that is followed, with what listens to its metrics; null below API 24. */
    private final WeakHashMap<Window, WindowMetrics> windows = new WeakHashMap<Window, WindowMetrics>();

    /** Their views, for {@link #isWaiting}, which allocates nothing. A dialog's goes when the dialog does. */
    private WeakReference<?>[] roots = {};

    private volatile boolean willCount;
    /** The thread's own. */
    private final long[] numbers = new long[NUMBERS];

    private int lastScene;
    private String lastName;

    private FrameMonitor(Context context) {
        this.context = context;
        Threads.start(thread);
    }

    /**
     * Starts; on main.
     *
     * @param activity whether there is an activity, or was
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

    /** An activity is created: there will be frames. */
    static void created() {
        if (only != null) {
            only.attach();
        }
    }

    /**
     * Follows Choreographer from now on. Not before there is an activity: the first {@code getInstance} of a thread asks the system for
     * the display's rate and opens a connection to SurfaceFlinger (AOSP Choreographer and DisplayEventReceiver, API 21 to 36), which a
     * process that was started for a push or a job would never need.
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

    /** Ends; on main. What was put into Choreographer, windows and display is taken out. */
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
        monitor.handler().sendEmptyMessage(COUNT);
        monitor.handler().sendEmptyMessage(FLUSH);
        monitor.handler().sendEmptyMessage(QUIT);
    }

    /** Shows the window with frames a second, or takes it away; on main, while this runs. */
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

    /** An activity was resumed: its window is followed. */
    static void resumed(Window window) {
        if (only != null && window != null && !only.windows.containsKey(window)) {
            only.attach();
            only.follow(window, true);
        }
    }

    /**
     * A dialog's window is shown. Its draws show that main is in a frame, and in which stage; the frames' figures are those of the activity's
     * window.
     */
    static void shown(Window window) {
        if (only != null && only.callbacks != null && !only.windows.containsKey(window)) {
            only.follow(window, false);
        }
    }

    /** An activity was paused: what was counted so far is told. */
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
     * The message that begins on main is a frame's, and the library knows that already.
     *
     * @param goesOn whether it goes on with the frame before
     */
    static void message(boolean goesOn) {
        FrameMonitor monitor = only;
        if (monitor != null && monitor.callbacks != null) {
            monitor.callbacks.frame(goesOn, monitor);
            monitor.framed();
        }
    }

    /** A frame begins on main: it is counted later, where windows tell nothing. */
    void framed() {
        LooperMonitor.look();
        if (Build.VERSION.SDK_INT < 24 && !willCount) {
            willCount = true;
            handler().sendEmptyMessageDelayed(COUNT, COUNT_AFTER_MS);
        }
    }

    /** As {@link #framed}, for who has no monitor in hand. */
    static void queued() {
        FrameMonitor monitor = only;
        if (monitor != null) {
            monitor.framed();
        }
    }

    /** On main. Not made at the start: that would wait for the thread, which is there by the time at which anything is drawn. */
    private Handler handler() {
        if (handler == null) {
            handler = new Handler(looper(), this);
        }
        return handler;
    }

    private Looper looper() {
        if (!thread.isAlive()) {
            // It waits still.
            Threads.startAll();
        }
        Looper looper = thread.getLooper();
        // There may have been no memory for it.
        return looper == null ? Looper.getMainLooper() : looper;
    }

    private void follow(Window window, boolean figures) {
        WindowMetrics metrics = null;
        if (figures && Build.VERSION.SDK_INT >= 24) {
            metrics = Later.make("dev.anrscope.FrameMetricsShim", WindowMetrics.class);
        }
        windows.put(window, metrics != null && metrics.add(window, handler(), this) ? metrics : null);
        View decor = window.peekDecorView();
        if (callbacks != null && decor != null) {
            decor.getViewTreeObserver().addOnPreDrawListener(this);
            ArrayList<WeakReference<?>> all = others(decor);
            all.add(new WeakReference<View>(decor));
            roots = all.toArray(new WeakReference<?>[0]);
        }
    }

    /** Whether a window waits to be drawn. */
    boolean isWaiting() {
        WeakReference<?>[] all = roots;
        for (int at = 0; at < all.length; at++) {
            View root = (View) all[at].get();
            if (root != null && (root.isDirty() || root.isLayoutRequested())) {
                return true;
            }
        }
        return false;
    }

    /** The views that are there still, without this one. */
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
            roots = others(decor).toArray(new WeakReference<?>[0]);
            try {
                decor.getViewTreeObserver().removeOnPreDrawListener(this);
            } catch (IllegalStateException gone) {
                // With the views.
            }
        }
    }

    /** Views are about to be drawn: if nothing else has told that the frame is so far, this does. */
    @Override
    public boolean onPreDraw() {
        if (callbacks != null) {
            callbacks.drawn();
        }
        drawn();
        LooperMonitor.look();
        return true;
    }

    /** On the thread of frames. */
    @Override
    public boolean handleMessage(Message message) {
        try {
            handle(message);
        } catch (Throwable theirs) {
            // A system service that is gone: no reason to end the app.
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
                    tell(numbers);
                    break;
                case 3:
                    // Main is in it still.
                    later();
                    return;
                default:
            }
        }
    }

    /** On the thread of frames. */
    private void later() {
        if (!willCount) {
            willCount = true;
            own.sendEmptyMessageDelayed(COUNT, COUNT_AFTER_MS);
        }
    }

    /**
     * A window's frame; on the thread of frames.
     *
     * @param of has room for all numbers
     * @param lost frames of this window since the one before whose numbers the system dropped
     */
    void windowFrame(long[] of, int lost) {
        measured(of, lost);
        count();
    }

    static long[] room() {
        return new long[NUMBERS];
    }

    private void tell(long[] of) {
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

    /** Its rate, too, may have changed. */
    @Override
    public void onDisplayChanged(int displayId) {
        if (displayId == Display.DEFAULT_DISPLAY) {
            try {
                rate();
            } catch (Throwable theirs) {
                // The rate stays what it was.
            }
        }
    }

    /** The thread begins: what asks the system is not main's. */
    private void display() {
        try {
            listen();
        } catch (Throwable theirs) {
            // Then the rate is taken for 60.
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

    /** @param intendedNs the frame's vsync by {@code System.nanoTime}'s clock, 0 if not known */
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
