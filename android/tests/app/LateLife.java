package dev.anrscope;

import android.os.Handler;
import host.HostApp;

/**
 * An app that works in short messages for a long time and hangs once: for how many ms it lives, when it hangs, for how long, and
 * {@code lock}, {@code sleep} or {@code compute}. Prints when the hang began and ended, ms since 1970. Real time.
 */
public final class LateLife {
    private LateLife() {}

    private static volatile long sum;

    /** Work of a few ms. */
    private static void tick() {
        MethodBeat.i(21);
        for (long until = System.nanoTime() + 3_000_000L; System.nanoTime() < until; ) {
            sum++;
        }
        MethodBeat.o(21);
    }

    private static void hang(String kind, long ms) {
        MethodBeat.i(22);
        long begun = System.currentTimeMillis();
        Object lock = new Object();
        if (kind.equals("compute")) {
            for (long until = System.nanoTime() + ms * 1_000_000L; System.nanoTime() < until; ) {
                sum++;
            }
        } else if (kind.equals("sleep")) {
            rest(ms);
        } else {
            Thread owner =
                    new Thread(
                            () -> {
                                synchronized (lock) {
                                    synchronized (LateLife.class) {
                                        LateLife.class.notifyAll();
                                    }
                                    rest(ms);
                                }
                            },
                            "owner");
            synchronized (LateLife.class) {
                owner.start();
                try {
                    LateLife.class.wait();
                } catch (InterruptedException impossible) {
                    throw new AssertionError(impossible);
                }
            }
            synchronized (lock) {
                sum++;
            }
        }
        System.out.println("hung " + begun + " " + System.currentTimeMillis());
        MethodBeat.o(22);
    }

    private static void rest(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    public static void main(String[] words) {
        long lives = Long.parseLong(words[0]);
        long at = Long.parseLong(words[1]);
        HostApp.SERVICES.put(android.content.Context.DISPLAY_SERVICE, new android.hardware.display.DisplayManager());
        AppScript script = new AppScript(false, () -> {});
        Anrscope.install(script.app, new Config.Builder().build());
        script.show(10, new AppScript.Home());
        Handler main = new Handler();
        Runnable[] again = new Runnable[1];
        again[0] =
                () -> {
                    tick();
                    main.postDelayed(again[0], 100);
                };
        main.post(again[0]);
        main.postDelayed(() -> hang(words[3], Long.parseLong(words[2])), at);
        script.run(lives);
    }
}
