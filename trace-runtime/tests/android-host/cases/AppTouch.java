package dev.anrscope;

import android.os.SystemClock;
import android.view.KeyEvent;
import android.view.MotionEvent;
import android.view.SearchEvent;
import android.view.Window;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** Input that waits for main, and the window's callback. Real time. */
public final class AppTouch {
    private static final List<String> TOLD = Collections.synchronizedList(new ArrayList<String>());

    private AppTouch() {}

    private static long told(String detail) {
        synchronized (TOLD) {
            return TOLD.stream().filter(json -> json.contains("\"" + detail + "\"")).count();
        }
    }

    /** Where main is when the stack is taken. */
    private static void stuckHere() {
        AppScript.await("a report of the lag", () -> told("LAG") > 0);
    }

    /** Another library's, in front of ours. */
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

    public static void main(String[] words) {
        AppScript script = new AppScript(false, () -> {});
        Anrscope.setListener(TOLD::add);
        Anrscope.install(script.app, new Config.Builder().lagMs(300).touchMs(200).anr(true).build());
        AppScript.Home home = new AppScript.Home();
        AppScript.Detail detail = new AppScript.Detail();
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
                    // The whole gesture waited.
                    Window.Callback callback = home.getWindow().getCallback();
                    for (int i = 0; i < 3; i++) {
                        callback.dispatchTouchEvent(MotionEvent.obtain(happened[0], happened[0] + i, 2, 1, 1, 0));
                    }
                    callback.dispatchKeyEvent(new KeyEvent(happened[0], happened[0], 0, 4, 0));
                    AppScript.await("a report of the touch", () -> told("LAG_TOUCH") > 0);
                });
        script.show(1, detail);
        script.then(
                1,
                () -> {
                    // Another library stands in front of ours: it stays so, and nothing is wrapped twice.
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
        System.out.println("told " + told("LAG_TOUCH"));
    }
}
