package dev.anrscope;

import android.os.SystemClock;
import android.view.KeyEvent;
import android.view.MotionEvent;
import android.view.SearchEvent;
import android.view.ViewRootImpl;
import android.view.Window;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Input that waits for main, and the window's callback. Real time. */
public final class AppTouch {
    private static final List<String> REPORTS = Collections.synchronizedList(new ArrayList<String>());

    private AppTouch() {}

    private static long reported(String detail) {
        synchronized (REPORTS) {
            return REPORTS.stream().filter(json -> json.contains("\"" + detail + "\"")).count();
        }
    }

    /** Main is here when the stack is taken. */
    private static void stuckHere() {
        AppScript.await("a report of the lag", () -> reported("LAG") > 0);
    }

    /** Another library's callback, in front of anrscope's. */
    static final class Theirs extends AppScript.Page {
        final Window.Callback before;

        Theirs(Window.Callback before) {
            super(99, 0);
            this.before = before;
        }

        @Override
        public boolean dispatchTouchEvent(MotionEvent event) {
            return before.dispatchTouchEvent(event);
        }
    }

    /** Whether main is in the poll, from which native code dispatches a window's input, and in no message. */
    private static boolean isInThePoll() {
        boolean poll = false;
        for (StackTraceElement frame : Thread.currentThread().getStackTrace()) {
            poll |= frame.getClassName().equals("android.os.MessageQueue") && frame.getMethodName().equals("nativePollOnce");
            if (frame.getMethodName().equals("dispatchMessage")) {
                return false;
            }
        }
        return poll;
    }

    public static void main(String[] words) {
        AppScript script = new AppScript(false, () -> {});
        Anrscope.setListener(REPORTS::add);
        Anrscope.install(script.app, new Config.Builder().lagMs(300).touchMs(200).anr(true).build());
        AppScript.Home home = new AppScript.Home();
        AppScript.Detail detail = new AppScript.Detail();
        int[] touched = new int[2];
        script.show(1, home);
        script.then(
                1,
                () -> {
                    Window.Callback callback = home.getWindow().getCallback();
                    long now = SystemClock.uptimeMillis();
                    System.out.println("wrapped " + (callback != home));
                    System.out.println("passes " + callback.dispatchTouchEvent(MotionEvent.obtain(now, now, 0, 1, 1, 0))
                            + " " + callback.onSearchRequested(new SearchEvent()) + " " + callback.onSearchRequested(null)
                            + " " + callback.onWindowStartingActionMode(null, 1) + " " + callback.onPreparePanel(1, null, null));
                    callback.onProvideKeyboardShortcuts(null, null, 1);
                    callback.onPointerCaptureChanged(true);
                });
        script.then(
                1,
                () ->
                        home.getWindow().getDecorView().hostOnTouch =
                                () -> {
                                    if (isInThePoll()) {
                                        touched[0]++;
                                    } else {
                                        touched[1]++;
                                    }
                                });
        long[] happened = new long[1];
        script.then(
                1,
                () -> {
                    happened[0] = SystemClock.uptimeMillis();
                    stuckHere();
                });
        script.then(
                1,
                () -> {
                    // The whole gesture waited: its begin and end come from the poll, the moves in the next frame.
                    ViewRootImpl root = home.hostWindow().root();
                    root.hostReceive(MotionEvent.obtain(happened[0], happened[0], MotionEvent.ACTION_DOWN, 1, 1, 0));
                    for (int i = 1; i < 4; i++) {
                        root.hostReceive(MotionEvent.obtain(happened[0], happened[0] + i, MotionEvent.ACTION_MOVE, 1, 1, 0));
                    }
                    root.hostReceive(new KeyEvent(happened[0], happened[0], 0, 4, 0));
                });
        script.until("a report of the touch", () -> reported("LAG_TOUCH") > 0);
        script.until("the moves", () -> touched[0] + touched[1] == 4);
        script.then(1, () -> System.out.println("in the poll " + touched[0] + " in a frame " + touched[1]));
        script.show(1, detail);
        script.then(
                1,
                () -> {
                    // Another library's callback is in front: it stays, and no window is wrapped twice.
                    Window window = detail.getWindow();
                    Window.Callback ours = window.getCallback();
                    Theirs theirs = new Theirs(ours);
                    window.setCallback(theirs);
                    window.getCallback().dispatchTouchEvent(MotionEvent.obtain(1, SystemClock.uptimeMillis(), 2, 1, 1, 0));
                    TouchMonitor.resumed(detail);
                    System.out.println("kept " + (window.getCallback() == theirs));
                    Anrscope.stop(Tracer.TOUCH);
                    Anrscope.stop(Tracer.STARTUP);
                    System.out.println("restored " + (home.getWindow().getCallback() == home) + " " + (window.getCallback() == theirs));
                });
        script.run(20);
        System.out.println("reported " + reported("LAG_TOUCH"));
    }
}
