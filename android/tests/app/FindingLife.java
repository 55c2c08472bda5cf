package dev.anrscope;

import android.app.ActivityManager;
import android.app.ActivityThread;
import android.content.Context;
import android.content.ContextWrapper;
import android.hardware.display.DisplayManager;
import android.os.Build;
import android.os.Handler;
import android.os.HandlerThread;
import android.os.Looper;
import android.os.Message;
import android.os.MessageQueue;
import android.os.SystemClock;
import android.view.Choreographer;
import android.view.View;
import host.HostApp;
import host.Vsync;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.Vector;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Surprising behaviour of Android's classes, one case per run, named by the first word. Prints what a test compares.
 * Real time.
 */
public final class FindingLife {
    private static final AtomicInteger ANRS = new AtomicInteger();
    private static final AtomicInteger SHOWN = new AtomicInteger();

    private FindingLife() {}

    private static AppScript app(String... options) {
        HostApp.SERVICES.put(Context.DISPLAY_SERVICE, new DisplayManager());
        HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, new ActivityManager());
        AppScript script = new AppScript(false, () -> {});
        Anrscope.setListener(
                json -> {
                    System.out.println("issue " + json);
                    if (json.contains("\"detail\":\"ANR\"")) {
                        ANRS.incrementAndGet();
                    }
                });
        Anrscope.install(script.app, TestOptions.add(new Config.Builder(), options, 0).build());
        return script;
    }

    public static void main(String[] words) throws Exception {
        switch (words[0]) {
            case "deadlock":
                deadlock(Integer.parseInt(words[1]), words[2].equals("with"));
                break;
            case "pending":
                pending(words[1]);
                break;
            case "vsync":
                vsync(Double.parseDouble(words[1]), Long.parseLong(words[2]), words[3].equals("with"));
                break;
            case "posted":
                posted(Integer.parseInt(words[1]));
                break;
            case "launch":
                launch(Integer.parseInt(words[1]));
                break;
            case "idlers":
                idlers(Integer.parseInt(words[1]));
                break;
            case "choreographer":
                choreographer();
                break;
            case "put-off":
                putOff();
                break;
            case "lost":
                lost();
                break;
            case "named":
                named();
                break;
            case "wrapped":
                wrapped(words[1].equals("application"));
                break;
            default:
                throw new IllegalArgumentException(words[0]);
        }
    }

    /** A list that many threads use: its toString needs its lock, as a Vector's does. */
    private static final class Cart extends Vector<String> {
        @Override
        public synchronized String toString() {
            SHOWN.incrementAndGet();
            return super.toString();
        }
    }

    private static final class Queue extends Handler {
        volatile int arrived;

        @Override
        public void handleMessage(Message message) {
            arrived++;
        }
    }

    /**
     * In each round main is busy until the ANR is reported, while a message waits whose obj is a cart, and a worker
     * holds the cart when it sends another. A round that does not end in 10 s is a deadlock.
     */
    private static void deadlock(int rounds, boolean sampler) throws Exception {
        AppScript script = sampler ? app("anr_ms=150", "lag_ms=0", "sample_ms=0", "slow=0") : null;
        if (script == null) {
            Looper.prepareMainLooper();
        }
        final Queue handler = new Queue();
        final AtomicInteger ended = new AtomicInteger();
        Thread watch = new Thread(() -> watch(ended, rounds), "watch");
        watch.setDaemon(true);
        watch.start();
        Runnable[] round = new Runnable[1];
        round[0] =
                () -> {
                    final Cart cart = new Cart();
                    final int anrs = ANRS.get();
                    handler.removeMessages(7);
                    handler.sendMessageDelayed(handler.obtainMessage(7, cart), 600_000);
                    final CountDownLatch sent = new CountDownLatch(1);
                    Thread worker =
                            new Thread("worker") {
                                @Override
                                public void run() {
                                    synchronized (cart) {
                                        // While the waiting messages are read, if they are.
                                        SystemClock.sleep(400);
                                        handler.sendMessage(handler.obtainMessage(8, cart));
                                    }
                                    sent.countDown();
                                }
                            };
                    worker.start();
                    SystemClock.sleep(500);
                    // Main continues in any case; that needs the queue.
                    handler.post(
                            () -> {
                                try {
                                    sent.await();
                                } catch (InterruptedException never) {
                                    throw new AssertionError(never);
                                }
                                if (sampler) {
                                    AppScript.await("the ANR's report", () -> ANRS.get() > anrs);
                                }
                                if (ended.incrementAndGet() == rounds) {
                                    System.out.println("ended " + ended + " shown " + SHOWN + " arrived " + handler.arrived);
                                    Looper.myLooper().quit();
                                } else {
                                    handler.post(round[0]);
                                }
                            });
                };
        handler.post(round[0]);
        Looper.loop();
    }

    private static void watch(AtomicInteger ended, int rounds) {
        int known = -1;
        while (ended.get() < rounds) {
            if (ended.get() == known) {
                System.out.println("deadlock in round " + known + " shown " + SHOWN);
                System.out.flush();
                Runtime.getRuntime().halt(0);
            }
            known = ended.get();
            SystemClock.sleep(10_000);
        }
    }

    private static final class Order {
        @Override
        public String toString() {
            SHOWN.incrementAndGet();
            return "Order{card 4111 1111 1111 1111}";
        }
    }

    /** A hundred orders wait while main hangs. */
    private static void pending(String redact) {
        AppScript script = app("anr_ms=400", "lag_ms=200", "redact=" + redact);
        Anrscope.setAnrListener(
                new AnrListener() {
                    @Override
                    public void onAnrDetected(Anr anr) {
                        System.out.println("listener " + anr.message() + " " + anr.values());
                        super.onAnrDetected(anr);
                    }

                    @Override
                    public void onAnrDetected(String stack, String message, long when, boolean listed, String cgroup) {
                        System.out.println("listener " + message);
                    }
                });
        script.then(
                10,
                () -> {
                    Handler handler = new Queue();
                    for (int i = 0; i < 100; i++) {
                        handler.sendMessageDelayed(handler.obtainMessage(7, new Order()), 600_000);
                    }
                    AppScript.await("the ANR's report", () -> ANRS.get() > 0);
                });
        script.run(300);
        System.out.println("shown " + SHOWN);
    }

    /** CPU time of main, us. */
    private static long cpu() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / 1_000;
    }

    /** Delivers one vsync that was not requested, and then leaves main idle for this long. */
    private static void vsync(double hz, long ms, boolean with) {
        Vsync.rate(hz);
        AppScript script = app(with ? "fps=1" : "fps=0");
        AppScript.Home home = new AppScript.Home();
        script.show(10, home);
        // Ordinary frames first.
        script.then(100, () -> draw(home, 20));
        long[] before = new long[2];
        script.then(
                1_000,
                () -> {
                    before[0] = Choreographer.getInstance().hostVsyncs;
                    before[1] = cpu();
                    System.out.println("drawn " + home.hostWindow().root().hostFrames);
                    Choreographer.getInstance().hostUnexpectedVsync();
                });
        script.then(
                ms,
                () -> {
                    System.out.println("asked " + (Choreographer.getInstance().hostVsyncs - before[0]));
                    System.out.println("cpu " + (cpu() - before[1]));
                });
        int[] drawn = new int[1];
        script.then(
                1,
                () -> {
                    drawn[0] = home.hostWindow().root().hostFrames;
                    before[0] = Choreographer.getInstance().hostVsyncs;
                    draw(home, 20);
                });
        script.then(
                1_000,
                () -> {
                    System.out.println("afterwards " + (home.hostWindow().root().hostFrames - drawn[0]) + " asked "
                            + (Choreographer.getInstance().hostVsyncs - before[0]));
                });
        script.run(10);
    }

    private static void draw(AppScript.Page page, int frames) {
        int[] left = {frames};
        View decor = page.getWindow().getDecorView();
        decor.hostOnDraw =
                () -> {
                    if (--left[0] > 0) {
                        decor.invalidate();
                    }
                };
        decor.invalidate();
    }

    private static void busy(long ms) {
        long end = System.nanoTime() + ms * 1_000_000;
        while (System.nanoTime() < end) {
            Thread.onSpinWait();
        }
    }

    /** Each frame's INPUT posts 6 ms of ANIMATION, as scrolling and Compose do; 4 ms more were posted before. */
    private static void posted(int frames) {
        AppScript script = app("fps=1");
        AppScript.Home home = new AppScript.Home();
        script.show(10, home);
        int[] left = {frames};
        Choreographer[] choreographer = new Choreographer[1];
        Runnable[] input = new Runnable[1];
        input[0] =
                () -> {
                    choreographer[0].postFrameCallback(at -> busy(6));
                    home.getWindow().getDecorView().invalidate();
                    if (--left[0] > 0) {
                        next(choreographer[0], input[0]);
                    }
                };
        script.then(
                300,
                () -> {
                    choreographer[0] = Choreographer.getInstance();
                    next(choreographer[0], input[0]);
                });
        script.until("the last frame", () -> left[0] == 0);
        script.run(500);
        System.out.println("done");
    }

    private static void next(Choreographer choreographer, Runnable input) {
        choreographer.postCallback(Choreographer.CALLBACK_INPUT, input, null);
        choreographer.postFrameCallback(at -> busy(4));
    }

    /** A start, followed by this many transactions. */
    private static void launch(int transactions) {
        AppScript script = app();
        int[] created = new int[1];
        Anrscope.addObserver(
                new Observer() {
                    @Override
                    public void onApplicationCreated() {
                        created[0]++;
                    }
                });
        AppScript.Home home = new AppScript.Home();
        script.show(50, home);
        for (int i = 0; i < transactions; i++) {
            script.then(1, () -> script.thread.hostPause(home)).then(1, () -> script.thread.hostRestart(home));
        }
        script.run(50);
        System.out.println("created " + created[0]);
    }

    /**
     * Prints how many of these the queue lacks, a few idle periods later: a busy main is not idle between two messages.
     */
    private static void settled(Handler main, int checks, MessageQueue.IdleHandler[] added, java.util.function.IntConsumer then) {
        main.postDelayed(
                () -> {
                    int lost = 0;
                    for (MessageQueue.IdleHandler handler : added) {
                        lost += AppIdle.list().contains(handler) ? 0 : 1;
                    }
                    if (lost > 0 && checks > 0) {
                        settled(main, checks - 1, added, then);
                        return;
                    }
                    for (MessageQueue.IdleHandler handler : added) {
                        Looper.myQueue().removeIdleHandler(handler);
                    }
                    then.accept(lost);
                },
                2);
    }

    /** A thread that read the queue's list before it was replaced, and was suspended there, adds its handler. */
    @SuppressWarnings("unchecked")
    private static void late(Handler main, Runnable then) {
        MessageQueue.IdleHandler[] added = {() -> true};
        IdleMonitor.stop();
        ArrayList<Object> read = (ArrayList<Object>) AppIdle.list();
        IdleMonitor.start();
        if (Build.VERSION.SDK_INT >= 37) {
            read.add(added[0]);
        } else {
            // It holds the queue's monitor, so the list cannot be replaced meanwhile.
            Looper.myQueue().addIdleHandler(added[0]);
        }
        settled(
                main,
                50,
                added,
                lost -> {
                    System.out.println("late " + lost);
                    then.run();
                });
    }

    /**
     * Another thread adds idle handlers while the monitor starts and stops: none is lost once main was idle, and each
     * runs once per start.
     */
    private static void idlers(int rounds) throws Exception {
        AppScript script = app("idle=1");
        int[] done = new int[3];
        Handler[] main = new Handler[1];
        Runnable[] round = new Runnable[1];
        round[0] =
                () -> {
                    IdleMonitor.stop();
                    final MessageQueue queue = Looper.myQueue();
                    final MessageQueue.IdleHandler[] added = new MessageQueue.IdleHandler[8];
                    Thread other =
                            new Thread() {
                                @Override
                                public void run() {
                                    for (int i = 0; i < added.length; i++) {
                                        added[i] = () -> true;
                                        queue.addIdleHandler(added[i]);
                                    }
                                }
                            };
                    other.start();
                    done[1] += IdleMonitor.start() ? 0 : 1;
                    try {
                        other.join();
                    } catch (InterruptedException never) {
                        throw new AssertionError(never);
                    }
                    settled(
                            main[0],
                            50,
                            added,
                            lost -> {
                                done[2] += lost;
                                if (++done[0] < rounds) {
                                    main[0].post(round[0]);
                                }
                            });
                };
        script.then(
                10,
                () -> {
                    main[0] = new Handler();
                    late(main[0], () -> main[0].post(round[0]));
                });
        script.until("the last round", () -> done[0] == rounds);
        script.run(10);
        System.out.println("failed " + done[1] + " lost " + done[2] + " of " + rounds * 8);
    }

    /** A process that never shows a page: a push, a job. */
    private static void choreographer() {
        AppScript script = app("fps=1");
        script.then(100, () -> script.thread.hostSend(114, () -> {}));
        script.then(200, () -> System.out.println("asked " + Choreographer.hostRequestedVsyncs()));
        AppScript.Home home = new AppScript.Home();
        script.show(10, home);
        script.then(300, () -> System.out.println("with a page " + Choreographer.hostRequestedVsyncs()));
        script.run(10);
    }

    /** Frames whose message draws nothing. */
    private static void putOff() {
        AppScript script = app("fps=1");
        AppScript.Home home = new AppScript.Home();
        script.show(10, home);
        int[] before = new int[1];
        for (int i = 0; i < 10; i++) {
            script.then(
                    100,
                    () -> {
                        Choreographer.getInstance().hostPutOff = 2;
                        home.getWindow().getDecorView().invalidate();
                    });
        }
        script.then(300, () -> System.out.println("drawn " + home.hostWindow().root().hostFrames));
        script.run(300);
    }

    /** The frames thread does not take the windows' metrics: all but three are dropped. */
    private static void lost() {
        AppScript script = app("fps=1");
        AppScript.Home home = new AppScript.Home();
        script.show(10, home);
        script.then(
                200,
                () -> {
                    home.getWindow().hostRing = 3;
                    Object monitor = FrameScript.value(FrameMonitor.class, null, "only");
                    HandlerThread thread = (HandlerThread) FrameScript.value(FrameMonitor.class, monitor, "thread");
                    new Handler(thread.getLooper()).post(() -> SystemClock.sleep(1_000));
                    draw(home, 20);
                });
        // The next frame that finds room reports the number of dropped ones.
        script.then(1_500, () -> draw(home, 2));
        script.run(500);
        System.out.println("dropped " + home.getWindow().hostDropped);
    }

    /** A handler with its own description. */
    private static final class Named extends Handler {
        @Override
        public String toString() {
            return "Checkout Handler [a) b} {c}";
        }
    }

    private static void named() {
        AppScript script = app();
        script.then(
                10,
                () -> {
                    Handler named = new Named();
                    for (int i = 0; i < 5; i++) {
                        named.sendEmptyMessage(70 + i);
                    }
                });
        script.run(100);
        System.out.println(LooperMonitor.history(50));
    }

    /** The providers' context is not the application, or has no application behind it. */
    private static void wrapped(boolean there) {
        HostApp.SERVICES.put(Context.DISPLAY_SERVICE, new DisplayManager());
        MethodBeat.i(2);
        MethodBeat.o(2);
        AppScript.App application = new AppScript.App(() -> {});
        Context none =
                new Context() {
                    @Override
                    public Object getSystemService(String name) {
                        return null;
                    }
                };
        ActivityThread.hostContext = there ? new ContextWrapper(application) : none;
        ActivityThread.hostMain(application, new StartProvider());
        new Handler().postDelayed(() -> Looper.myLooper().quit(), 300);
        Looper.loop();
        System.out.println("recording " + Anrscope.isRecording());
    }
}
