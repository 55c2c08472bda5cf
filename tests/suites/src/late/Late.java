import java.util.concurrent.CountDownLatch;

/**
 * A program that works in short calls for a long time and hangs once: for how many ms it lives, when it hangs, for how long, and
 * {@code lock}, {@code join} or {@code compute}. Prints when the hang began and ended, ms since 1970.
 */
public final class Late {
    private static volatile long sum;

    static void tick() {
        for (long until = System.nanoTime() + 3_000_000L; System.nanoTime() < until; ) {
            sum++;
        }
    }

    static void compute(long ms) {
        for (long until = System.nanoTime() + ms * 1_000_000L; System.nanoTime() < until; ) {
            sum++;
        }
    }

    static void owns(Object lock, CountDownLatch has, long ms) {
        synchronized (lock) {
            has.countDown();
            rest(ms);
        }
    }

    static void rest(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    static void hang(String kind, long ms) throws InterruptedException {
        long begun;
        if (kind.equals("compute")) {
            begun = System.currentTimeMillis();
            compute(ms);
        } else if (kind.equals("join")) {
            Thread other = new Thread(() -> rest(ms), "other");
            other.start();
            begun = System.currentTimeMillis();
            other.join();
        } else {
            Object lock = new Object();
            CountDownLatch has = new CountDownLatch(1);
            new Thread(() -> owns(lock, has, ms), "owner").start();
            has.await();
            begun = System.currentTimeMillis();
            synchronized (lock) {
                sum++;
            }
        }
        System.out.println("hung " + begun + " " + System.currentTimeMillis());
    }

    public static void main(String[] words) throws InterruptedException {
        long begun = System.nanoTime();
        long lives = Long.parseLong(words[0]) * 1_000_000L;
        long at = Long.parseLong(words[1]) * 1_000_000L;
        boolean hung = false;
        while (System.nanoTime() - begun < lives) {
            tick();
            if (!hung && System.nanoTime() - begun >= at) {
                hung = true;
                hang(words[3], Long.parseLong(words[2]));
            }
            rest(100);
        }
    }
}
