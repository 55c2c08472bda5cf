package dev.anrscope;

import android.app.ActivityManager;
import android.app.Dialog;
import android.content.Context;
import android.hardware.SystemSensorManager;
import android.hardware.display.DisplayManager;
import android.os.Build;
import android.os.Handler;
import android.os.Looper;
import android.os.MessageQueue;
import android.os.SystemClock;
import android.view.KeyEvent;
import android.view.MotionEvent;
import android.view.View;
import android.view.ViewRootImpl;
import android.widget.PopupWindow;
import com.example.shop.Pay;
import com.example.shop.Preload;
import com.example.shop.Store;
import host.HostApp;
import java.io.FileDescriptor;

/**
 * Main hangs once, in the place that the first word names, for this many ms; the system lists the app and sends SIGQUIT
 * at three quarters of that. The other words are options, KEY=VALUE. Prints every report. Real time.
 */
public final class HangLife {
    private HangLife() {}

    /** System threads act on a window. */
    private static void fromOutside(SystemProcess.Work work) {
        SystemProcess.run("Binder:system", work);
    }

    private static void touch(ViewRootImpl root) {
        long now = SystemClock.uptimeMillis();
        root.hostReceive(MotionEvent.obtain(now, now, MotionEvent.ACTION_DOWN, 1, 1, 0));
    }

    private static void begin(String unit, AppScript script, AppScript.Home home, long ms) {
        View decor = home.getWindow().getDecorView();
        ViewRootImpl root = home.hostWindow().root();
        MessageQueue queue = Looper.myQueue();
        switch (unit) {
            case "touch":
                decor.hostOnTouch = () -> Store.onEvent(ms);
                fromOutside(() -> touch(root));
                break;
            case "key":
                decor.hostOnKey = () -> Store.onEvent(ms);
                long now = SystemClock.uptimeMillis();
                fromOutside(() -> root.hostReceive(new KeyEvent(now, now, KeyEvent.ACTION_DOWN, 4, 0)));
                break;
            case "idle":
                queue.addIdleHandler(new Preload(ms));
                break;
            case "fd":
                fd(queue, ms);
                break;
            case "dialog":
                Dialog dialog = new Dialog(home);
                dialog.show();
                dialog.getWindow().getDecorView().hostOnTouch = () -> Store.onEvent(ms);
                // Shown, it takes the focus from the page's window, and is touched.
                script.thread.hostFocus(home, false);
                new Handler().post(() -> dialog.getWindow().getCallback().onWindowFocusChanged(true));
                new Handler().postDelayed(() -> fromOutside(() -> touch(dialog.hostWindow().root())), 200);
                break;
            case "popup":
                View content = new View(home);
                content.hostOnTouch = () -> Store.onEvent(ms);
                PopupWindow popup = new PopupWindow(content);
                popup.showAtLocation(decor, 0, 0, 0);
                new Handler().postDelayed(() -> fromOutside(() -> touch(popup.hostRoot())), 200);
                break;
            case "message":
                new Handler().post(new Pay(ms));
                break;
            case "frame":
                decor.hostOnDraw =
                        () -> {
                            decor.hostOnDraw = null;
                            Store.onEvent(ms);
                        };
                decor.invalidate();
                break;
            default:
                throw new IllegalArgumentException(unit);
        }
    }

    /** A file descriptor's listener, or a sensor's on systems without such listeners. */
    private static void fd(MessageQueue queue, long ms) {
        if (Build.VERSION.SDK_INT < 23) {
            SystemSensorManager.SensorEventQueue sensor =
                    new SystemSensorManager.SensorEventQueue(timestamp -> Store.onEvent(ms), Looper.myLooper());
            fromOutside(() -> sensor.hostEvent(1));
            return;
        }
        FileDescriptor fd = new FileDescriptor();
        queue.addOnFileDescriptorEventListener(
                fd,
                MessageQueue.OnFileDescriptorEventListener.EVENT_INPUT,
                (ready, events) -> {
                    Store.onEvent(ms);
                    return 0;
                });
        fromOutside(() -> queue.hostReady(fd, MessageQueue.OnFileDescriptorEventListener.EVENT_INPUT));
    }

    /** From another process, as the system does it. */
    private static void sigquitAfter(long ms) {
        fromOutside(
                () -> {
                    while (Store.begun() == 0) {
                        Thread.sleep(5);
                    }
                    Thread.sleep(ms);
                    SystemProcess.reportAnr();
                });
    }

    public static void main(String[] words) {
        HostApp.SERVICES.put(Context.DISPLAY_SERVICE, new DisplayManager());
        HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, new ActivityManager());
        long ms = Long.parseLong(words[1]);
        AppScript script = new AppScript(false, () -> {});
        Anrscope.setListener(json -> System.out.println("issue " + json));
        Anrscope.install(script.app, TestOptions.add(new Config.Builder(), words, 2).build());
        AppScript.Home home = new AppScript.Home();
        script.show(10, home);
        // The page is drawn, and main was idle.
        script.then(300, () -> begin(words[0], script, home, ms));
        sigquitAfter(ms * 3 / 4);
        script.until(
                "the end of the hang",
                () -> Store.begun() > 0 && System.nanoTime() - Store.begun() > ms * 1_000_000);
        // Reports after the hang.
        script.run(700);
    }
}
