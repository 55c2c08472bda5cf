package plain;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;

/** The steps that are measured, each in a loop. The same source is compiled a second time, in another package, and instrumented. */
public final class Steps implements bench.Work {
    private final ReentrantLock lock = new ReentrantLock();
    private final Semaphore semaphore = new Semaphore(1);
    private final CountDownLatch latch = new CountDownLatch(Integer.MAX_VALUE);
    private final Runnable prebuilt = new Prebuilt();
    private long count;

    private static final class Prebuilt implements Runnable {
        private long runs;

        @Override
        public void run() {
            runs++;
        }
    }

    @Override
    public void locks(int calls) {
        for (int i = 0; i < calls; i++) {
            lock.lock();
            count++;
            lock.unlock();
        }
    }

    @Override
    public void permits(int calls) throws InterruptedException {
        for (int i = 0; i < calls; i++) {
            semaphore.acquire();
            count++;
            semaphore.release();
        }
    }

    @Override
    public void countDowns(int calls) {
        for (int i = 0; i < calls; i++) {
            latch.countDown();
        }
    }

    @Override
    public void executes(ExecutorService executor, int calls) {
        for (int i = 0; i < calls; i++) {
            executor.execute(prebuilt);
        }
    }

    @Override
    public void submits(ExecutorService executor, int calls) {
        for (int i = 0; i < calls; i++) {
            executor.submit(() -> count++);
        }
    }
}
