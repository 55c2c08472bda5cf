import java.util.concurrent.atomic.AtomicInteger;

/**
 * Starts threads that allocate nothing beside three that fill the heap again and again: {@code Heap THREADS} prints how many of the threads died of an error,
 * and of which.
 */
public final class Heap {
    static volatile boolean done;
    static volatile int calls;
    static volatile Throwable first;
    static final AtomicInteger died = new AtomicInteger();

    static void fill() {
        Object chain = null;
        try {
            while (!done) {
                chain = new Object[] {chain, new byte[64]};
            }
        } catch (OutOfMemoryError full) {
            chain = null;
        }
    }

    static void body() {
        for (int i = 0; i < 2_000; i++) {
            pair();
        }
    }

    static void pair() {
        up();
        down();
    }

    static void up() {
        calls++;
    }

    static void down() {
        calls--;
    }

    public static void main(String[] arguments) throws Exception {
        Thread[] threads = new Thread[Integer.parseInt(arguments[0])];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(null, Heap::body, "quiet-" + i, 256 * 1024);
            threads[i].setUncaughtExceptionHandler((thread, error) -> {
                died.incrementAndGet();
                first = first == null ? error : first;
            });
        }
        for (int i = 0; i < 3; i++) {
            Thread filler = new Thread(() -> {
                while (!done) {
                    fill();
                }
            }, "filler-" + i);
            filler.setUncaughtExceptionHandler((thread, error) -> {});
            filler.setDaemon(true);
            filler.start();
        }
        int notStarted = 0;
        for (Thread thread : threads) {
            try {
                thread.start();
            } catch (OutOfMemoryError full) {
                notStarted++;
            }
            Thread.yield();
        }
        // The heap stays full until the last of them has run.
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                Thread.yield();
            }
        }
        done = true;
        System.gc();
        System.out.println("died " + died.get() + " of " + threads.length + ", not started " + notStarted);
        if (first != null) {
            first.printStackTrace(System.out);
        }
    }
}
