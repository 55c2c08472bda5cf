package bench;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * Nanoseconds and allocated bytes that instrumentation with {@code --waits} adds to steps of concurrent work, on the thread that makes
 * them: plain and instrumented classes with the same source, in alternating rounds of one process. Prints the medians of the rounds,
 * and the median of the differences of adjacent rounds with the 10th and 90th of a hundred. The executor's one thread runs the tasks
 * after each round.
 */
public final class ConcurrencyBench {
    private static final int WARM_UP = 30;
    private static final int ROUNDS = 60;
    private static final ThreadMXBean BEAN = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final String[] NAMES = {
        "ReentrantLock, lock and unlock", "Semaphore, acquire and release", "CountDownLatch.countDown",
        "execute of a prebuilt Runnable", "submit of a lambda",
    };
    private static final int[] CALLS = {20_000, 20_000, 20_000, 4_000, 4_000};

    private final ThreadPoolExecutor executor =
            new ThreadPoolExecutor(1, 1, 1, TimeUnit.MINUTES, new LinkedBlockingQueue<>());
    private long done;

    private ConcurrencyBench() {}

    private static void run(Work steps, int kind, ExecutorService executor, int calls) throws Exception {
        switch (kind) {
            case 0:
                steps.locks(calls);
                break;
            case 1:
                steps.permits(calls);
                break;
            case 2:
                steps.countDowns(calls);
                break;
            case 3:
                steps.executes(executor, calls);
                break;
            default:
                steps.submits(executor, calls);
        }
    }

    /** Nanoseconds and bytes a call. */
    private double[] round(Work steps, int kind) throws Exception {
        int calls = CALLS[kind];
        // The executor's thread does not compete for the queue.
        CountDownLatch filled = new CountDownLatch(1);
        if (kind >= 3) {
            CountDownLatch held = new CountDownLatch(1);
            executor.execute(() -> {
                held.countDown();
                await(filled);
            });
            held.await();
            done++;
        }
        long thread = Thread.currentThread().getId();
        long bytes = BEAN.getThreadAllocatedBytes(thread);
        long begin = System.nanoTime();
        run(steps, kind, executor, calls);
        long end = System.nanoTime();
        long allocated = BEAN.getThreadAllocatedBytes(thread) - bytes;
        if (kind >= 3) {
            // Each round begins with an empty queue.
            filled.countDown();
            done += calls;
            while (executor.getCompletedTaskCount() < done) {
                Thread.sleep(1);
            }
        }
        return new double[] {(end - begin) / (double) calls, allocated / (double) calls};
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    private static double at(double[][] rounds, int value, int percent) {
        double[] all = new double[rounds.length];
        for (int i = 0; i < all.length; i++) {
            all[i] = rounds[i][value];
        }
        Arrays.sort(all);
        return all[Math.min(all.length - 1, all.length * percent / 100)];
    }

    private void measure(Work plain, Work traced, int kind) throws Exception {
        double[][] without = new double[ROUNDS][];
        double[][] with = new double[ROUNDS][];
        double[][] added = new double[ROUNDS][];
        for (int i = -WARM_UP; i < ROUNDS; i++) {
            double[] one = round(plain, kind);
            double[] other = round(traced, kind);
            if (i >= 0) {
                without[i] = one;
                with[i] = other;
                added[i] = new double[] {other[0] - one[0], other[1] - one[1]};
            }
        }
        System.out.printf(
                "  %-31s plain %6.1f ns %6.1f bytes, instrumented %6.1f ns %6.1f bytes: %+7.1f ns (%+.1f to %+.1f), %+.1f bytes%n",
                NAMES[kind], at(without, 0, 50), at(without, 1, 50), at(with, 0, 50), at(with, 1, 50),
                at(added, 0, 50), at(added, 0, 10), at(added, 0, 90), at(added, 1, 50));
    }

    public static void main(String[] arguments) throws Exception {
        // The recorded main thread is the first that calls the recorder.
        Work plain = (Work) Class.forName("plain.Steps").getConstructor().newInstance();
        Work traced = (Work) Class.forName("traced.Steps").getConstructor().newInstance();
        ConcurrencyBench bench = new ConcurrencyBench();
        for (int kind = 0; kind < NAMES.length; kind++) {
            bench.measure(plain, traced, kind);
        }
        System.exit(0);
    }
}
