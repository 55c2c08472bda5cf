import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;

/** Main waits for a lock that another thread holds: in a block, in a synchronized method, and in other ways. */
public final class Contention {
    static final class Store {
        private int size;

        synchronized int slow(CountDownLatch taken) throws InterruptedException {
            taken.countDown();
            Thread.sleep(300);
            return ++size;
        }

        synchronized int size() {
            return Math.abs(size);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Object lock = new StringBuilder("lock");
        Store store = new Store();
        System.out.println(System.identityHashCode(lock) + " " + System.identityHashCode(store));

        CountDownLatch first = new CountDownLatch(1);
        Thread holder = new Thread(() -> {
            synchronized (lock) {
                first.countDown();
                pause(300);
            }
        }, "holder");
        holder.start();
        first.await();
        synchronized (lock) {
            System.out.println("mine");
        }
        holder.join();

        CountDownLatch second = new CountDownLatch(1);
        Thread writer = new Thread(() -> {
            try {
                store.slow(second);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }, "writer");
        writer.start();
        second.await();
        System.out.println("size " + store.size());
        writer.join();
        System.out.println(new LinkedBlockingQueue<String>().poll(50, java.util.concurrent.TimeUnit.MILLISECONDS));
    }

    private static void pause(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
