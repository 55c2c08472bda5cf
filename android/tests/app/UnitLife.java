package dev.anrscope;

import android.app.ActivityManager;
import android.app.Application;
import android.app.Dialog;
import android.content.Context;
import android.os.Build;
import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import android.os.MessageQueue;
import android.os.SystemClock;
import android.view.KeyEvent;
import android.view.MotionEvent;
import android.view.Window;
import host.HostApp;
import host.HostWindow;
import java.io.FileDescriptor;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** Work of main in no message, which hangs; prints every report. */
public final class UnitLife implements InvocationHandler {
    /** Reports during the hang: it lasts until they have arrived. */
    private static CountDownLatch during;

    private static CountDownLatch after;
    private static long ms;

    private final Runnable work;

    private UnitLife(Runnable work) {
        this.work = work;
    }

    /** A window's callback that does this for each event; the library's is in front of it. */
    private static Window.Callback window(Runnable work) {
        Class<?>[] faces = {Window.Callback.class};
        Object theirs = Proxy.newProxyInstance(UnitLife.class.getClassLoader(), faces, new UnitLife(work));
        return new WindowCallback((Window.Callback) theirs, null).installed;
    }

    @Override
    public Object invoke(Object proxy, Method method, Object[] values) {
        work.run();
        return method.getReturnType() == boolean.class ? Boolean.TRUE : null;
    }

    /** Not instrumented. */
    private static void wait(String how) {
        try {
            if (how.endsWith("sigquit")) {
                HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, new ActivityManager());
                ErrorStates.start(new Application());
                SystemProcess.reportAnr();
            }
            during.await(60, TimeUnit.SECONDS);
            Thread.sleep(ms);
        } catch (Exception thrown) {
            throw new AssertionError(thrown);
        }
    }

    private static void payNow(String how) {
        MethodBeat.i(200);
        MethodBeat.i(201);
        wait(how);
        MethodBeat.o(201);
        MethodBeat.o(200);
    }

    /** An idle handler whose class is not instrumented; the code it calls is. */
    static final class Preload implements MessageQueue.IdleHandler {
        @Override
        public boolean queueIdle() {
            payNow("idle");
            quit();
            return false;
        }
    }

    private static MotionEvent motion(int action) {
        long now = SystemClock.uptimeMillis();
        return MotionEvent.obtain(now, now, action, 1, 1, 0);
    }

    private static KeyEvent key(int action) {
        long now = SystemClock.uptimeMillis();
        return new KeyEvent(now, now, action, 4, 0);
    }

    /** Every action once, and some that no level defines. */
    private static void names() {
        Window.Callback window = window(() -> {});
        for (int action = 0; action <= 13; action++) {
            window.dispatchTouchEvent(motion(action));
        }
        // The second finger.
        window.dispatchTouchEvent(motion(1 << 8 | 5));
        for (int action = 0; action <= 3; action++) {
            window.dispatchKeyEvent(key(action));
        }
        window.dispatchKeyShortcutEvent(key(0));
        window.dispatchTrackballEvent(motion(2));
        window.dispatchGenericMotionEvent(motion(8));
        window.onContentChanged();
    }

    /**
     * An event whose handler runs a nested loop, one that throws, one inside a message, and one of a window whose
     * callback is wrapped twice.
     */
    private static void shapes() {
        final Handler handler = new Handler() {
            @Override
            public void handleMessage(Message message) {
                if (message.what == 3) {
                    throw new IllegalStateException("ends the loop");
                }
                if (message.what == 4) {
                    window(() -> {}).dispatchTouchEvent(motion(0));
                }
            }
        };
        window(
                        () -> {
                            handler.sendEmptyMessage(1);
                            handler.sendEmptyMessage(2);
                            handler.sendEmptyMessage(3);
                            try {
                                Looper.loop();
                            } catch (IllegalStateException done) {
                                // The nested loop's last message has no end.
                            }
                        })
                .dispatchTouchEvent(motion(1));
        try {
            window(
                            () -> {
                                throw new IllegalStateException("the app's own");
                            })
                    .dispatchKeyEvent(key(0));
        } catch (IllegalStateException theirs) {
            System.out.println("threw " + theirs.getMessage());
        }
        handler.sendEmptyMessage(4);
        Looper.hostRunDue();
        Window.Callback inner = window(() -> {});
        window(() -> inner.dispatchTouchEvent(motion(0))).dispatchTouchEvent(motion(0));
        handler.sendEmptyMessage(5);
        Looper.hostRunDue();
        System.out.print(LooperMonitor.history(200));
    }

    /** As on a system whose interface has one method more than the library knows. */
    interface NewerCallback extends Window.Callback {
        default String later(int number) {
            return "the interface's";
        }
    }

    private static void later() throws Throwable {
        Window.Callback now = window(() -> {});
        System.out.println("itself " + (now instanceof WindowCallback));
        WindowCallback.complete = Boolean.FALSE;
        InvocationHandler theirs = (proxy, method, values) -> {
            if (method.getName().equals("later")) {
                return "the app's " + values[0];
            }
            if (method.getName().equals("onContentChanged")) {
                throw new IllegalStateException("theirs");
            }
            return method.getReturnType() == boolean.class ? Boolean.TRUE : null;
        };
        Class<?>[] faces = {NewerCallback.class};
        WindowCallback ours = new WindowCallback(
                (Window.Callback) Proxy.newProxyInstance(UnitLife.class.getClassLoader(), faces, theirs), null);
        Window.Callback installed = ours.installed;
        System.out.println("proxy " + (installed != ours) + " " + installed.equals(installed) + " " + installed.equals(ours));
        System.out.println("touch " + installed.dispatchTouchEvent(motion(0)));
        installed.onPointerCaptureChanged(true);
        Method later = NewerCallback.class.getMethod("later", int.class);
        System.out.println("later " + ours.invoke(installed, later, new Object[] {7}));
        try {
            installed.onContentChanged();
        } catch (IllegalStateException thrown) {
            System.out.println("threw " + thrown.getMessage());
        }
        WindowCallback.complete = null;
    }

    /** Runs main's loop until the hang is over. */
    private static void loop() {
        Looper.loop();
    }

    /** Ends the loop after the last report: main waits for it in the poll, where it never counts as busy. */
    private static void quit() {
        Handler main = new Handler();
        Runnable quit = Looper.myLooper()::quit;
        new Thread(
                        () -> {
                            try {
                                after.await(30, TimeUnit.SECONDS);
                            } catch (InterruptedException ended) {
                                Thread.currentThread().interrupt();
                            }
                            main.post(quit);
                        })
                .start();
    }

    /** A call of native code from the poll: a file descriptor's listener, where the level supports it. */
    private static void ready(Runnable work) {
        MessageQueue queue = Looper.myQueue();
        if (Build.VERSION.SDK_INT < 23) {
            queue.hostNative(0, work);
            return;
        }
        FileDescriptor fd = new FileDescriptor();
        queue.addOnFileDescriptorEventListener(
                fd,
                MessageQueue.OnFileDescriptorEventListener.EVENT_INPUT,
                (of, events) -> {
                    work.run();
                    return 0;
                });
        queue.hostReady(fd, MessageQueue.OnFileDescriptorEventListener.EVENT_INPUT);
    }

    private static void hang(String how) {
        Runnable pay = () -> {
            payNow(how);
            quit();
        };
        HostWindow page = new HostWindow(new Application());
        page.setCallback(window(pay));
        switch (how) {
            case "touch":
                page.root().hostReceive(motion(0));
                break;
            case "key":
                page.root().hostReceive(key(0));
                break;
            case "dialog":
                page.setCallback(window(() -> {}));
                TouchMonitor.enable(true, false);
                Dialog dialog = new Dialog(new Application()) {
                    @Override
                    public boolean onTouchEvent(MotionEvent event) {
                        pay.run();
                        return true;
                    }
                };
                dialog.show();
                // It takes the focus from the window below.
                page.getCallback().onWindowFocusChanged(false);
                dialog.hostWindow().root().hostReceive(motion(1));
                break;
            case "idle":
                IdleMonitor.start();
                Looper.myQueue().addIdleHandler(new Preload());
                break;
            case "call":
            case "call-sigquit":
                ready(pay);
                break;
            case "plain":
            case "plain-sigquit":
                ready(
                        () -> {
                            wait(how);
                            quit();
                        });
                break;
            case "modal":
                // A message that runs a nested loop, which is idle for this long.
                new Handler()
                        .post(
                                () -> {
                                    new Handler()
                                            .postDelayed(
                                                    () -> {
                                                        throw new IllegalStateException("closed");
                                                    },
                                                    ms);
                                    try {
                                        Looper.loop();
                                    } catch (IllegalStateException closed) {
                                        quit();
                                    }
                                });
                break;
            case "sleeping":
                new Handler().postDelayed(Looper.myLooper()::quit, ms);
                break;
            default:
                throw new IllegalArgumentException(how);
        }
        loop();
    }

    /**
     * Words: what hangs; number of reports during the hang, ms that it lasts after them, number of reports after it;
     * options.
     */
    public static void main(String[] words) throws Throwable {
        MethodBeat.i(1);
        Looper.prepareMainLooper();
        String how = words[0];
        during = new CountDownLatch(Integer.parseInt(words[1]));
        ms = Long.parseLong(words[2]);
        after = new CountDownLatch(Integer.parseInt(words[3]));
        TestOptions.set(words, 4, words.length);
        Reports.start(
                json -> {
                    System.out.println("issue " + json);
                    (during.getCount() > 0 ? during : after).countDown();
                });
        LooperMonitor.start();
        StackSampler.start();
        // The Looper runs.
        new Handler().sendEmptyMessage(77);
        Looper.hostRunDue();
        if (how.equals("names")) {
            names();
        } else if (how.equals("shapes")) {
            shapes();
        } else if (how.equals("later")) {
            later();
        } else {
            hang(how);
        }
        System.out.println("all " + (during.getCount() == 0 && after.getCount() == 0));
        IdleMonitor.stop();
        LooperMonitor.stop();
        StackSampler.stop();
        Reports.stop();
        MethodBeat.o(1);
    }
}
