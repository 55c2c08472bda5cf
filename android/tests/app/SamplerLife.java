package dev.anrscope;

import android.os.Debug;
import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Failures while main's stack and queue are read, one per run. {@code words[0]}: {@code cart}, {@code slow}, {@code
 * dump}, {@code broken}, or {@code hidden} for a hang alone; then options as KEY=VALUE.
 */
public final class SamplerLife {
    private static final CountDownLatch ANR = new CountDownLatch(1);

    private SamplerLife() {}

    public static void main(String[] words) throws Exception {
        MethodBeat.i(1);
        Looper.prepareMainLooper();
        TestOptions.set(words, 1, words.length);
        Reports.start(
                json -> {
                    System.out.println("issue " + json);
                    if (json.contains("\"ANR\"")) {
                        ANR.countDown();
                    }
                });
        Debug.hostBroken = words[0].equals("broken");
        LooperMonitor.start();
        StackSampler.start();
        Natives.setScene("com.example.CheckoutActivity");
        Handler handler = new Handler();
        switch (words[0]) {
            case "cart":
                cart(handler);
                break;
            case "dump":
                dump(handler);
                break;
            case "slow":
                slow(handler);
                break;
            default:
                handler.post(SamplerLife::hang);
                break;
        }
        Looper.hostRunDue();
        System.out.println("ended " + (ANR.getCount() == 0));
        LooperMonitor.stop();
        StackSampler.stop();
        Reports.stop();
        MethodBeat.o(1);
    }

    /** Main is busy until its ANR is reported. */
    private static void hang() {
        try {
            ANR.await(30, TimeUnit.SECONDS);
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
    }

    /** An object that an app may send to its handler: its toString takes its lock. */
    private static final class Cart {
        final CountDownLatch described = new CountDownLatch(1);

        @Override
        public String toString() {
            described.countDown();
            synchronized (this) {
                return "cart";
            }
        }
    }

    /**
     * A worker owns the cart's lock and posts, while a message with the cart waits: calling the cart's toString while
     * holding the queue's lock deadlocks.
     */
    private static void cart(Handler handler) throws Exception {
        Cart cart = new Cart();
        handler.sendMessageDelayed(Message.obtain(handler, 7, cart), 600000);
        CountDownLatch owned = new CountDownLatch(1);
        Thread worker =
                new Thread("CartWorker") {
                    @Override
                    public void run() {
                        synchronized (cart) {
                            owned.countDown();
                            try {
                                // By then the ANR's description is complete, or it was reported without one.
                                while (ANR.getCount() > 0 && !cart.described.await(1, TimeUnit.MILLISECONDS)) {}
                            } catch (InterruptedException never) {
                                throw new AssertionError(never);
                            }
                            handler.sendEmptyMessageDelayed(8, 600000);
                        }
                    }
                };
        Thread watchdog =
                new Thread("watchdog") {
                    @Override
                    public void run() {
                        try {
                            Thread.sleep(20000);
                        } catch (InterruptedException never) {
                            throw new AssertionError(never);
                        }
                        System.out.println("deadlock");
                        Runtime.getRuntime().halt(0);
                    }
                };
        watchdog.setDaemon(true);
        watchdog.start();
        worker.start();
        owned.await();
        handler.post(SamplerLife::hang);
        handler.post(
                () -> {
                    try {
                        worker.join();
                    } catch (InterruptedException never) {
                        throw new AssertionError(never);
                    }
                    System.out.println("described " + (cart.described.getCount() == 0));
                });
    }

    /** Main computes without a safepoint, and hangs once more afterwards. */
    private static void slow(Handler handler) {
        // Compiled by the time of the hang.
        long warm = 0;
        for (int at = 0; at < 20000; at++) {
            warm += compute(1000);
        }
        System.out.println("warm " + (warm != 0));
        handler.post(
                () -> {
                    long until = System.nanoTime() + 4_000_000_000L;
                    long sum = 0;
                    do {
                        sum += compute(Integer.MAX_VALUE);
                    } while (System.nanoTime() < until);
                    System.out.println("computed " + (sum != 0));
                });
        handler.post(
                () -> {
                    MethodBeat.i(300);
                    hang();
                    MethodBeat.o(300);
                });
    }

    /**
     * Main hangs until the library waits for a dump, or for six seconds, and SIGQUIT comes; it comes once more when
     * main has continued and the library no longer waits.
     */
    private static void dump(Handler handler) {
        Natives.armed(android.os.Build.VERSION.SDK_INT);
        boolean copies = android.os.Build.VERSION.SDK_INT < 30;
        handler.post(
                () -> {
                    long until = System.nanoTime() + 6_000_000_000L;
                    AppScript.await("the hook", () -> copies ? waitsForDump() : System.nanoTime() > until);
                    SystemProcess.signal("-QUIT");
                    AppScript.await("the end of the dump", () -> !waitsForDump());
                    hang();
                });
        handler.post(
                () -> {
                    AppScript.await("the hook's end", () -> !waitsForDump());
                    SystemProcess.signal("-QUIT");
                });
    }

    /** Whether the thread that waits for a dump exists. */
    private static boolean waitsForDump() {
        for (java.io.File task : new java.io.File("/proc/self/task").listFiles()) {
            try {
                if (java.nio.file.Files.readString(task.toPath().resolve("comm")).equals("anrscope-text\n")) {
                    return true;
                }
            } catch (java.io.IOException ended) {
                // Continue with the next task.
            }
        }
        return false;
    }

    /** A counted loop, which HotSpot's C2 compiles without a safepoint if the options say so. */
    private static int compute(int rounds) {
        int sum = 1;
        for (int at = 0; at < rounds; at++) {
            sum = sum * 31 + (sum >>> 3) + at;
        }
        return sum;
    }
}
