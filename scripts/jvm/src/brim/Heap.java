import java.util.concurrent.atomic.AtomicInteger;

/**
 * Starts threads that allocate nothing while three others fill the heap again and again: {@code Heap THREADS [WARM-UP]} prints
 * how many of the threads died of an error, and of which. The warm-up is a number of calls on a thread of its own before the
 * heap is full, so that the JVM has compiled the calls and what is inserted into them.
 */
public final class Heap {
    static volatile boolean done;
    /** The pairs of calls of a thread. Compiled ones take so little time that the heap may not be full once in a few. */
    static int each = 2_000;
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
        for (int i = 0; i < each; i++) {
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
        int warmUp = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 0;
        Thread warm = new Thread(() -> {
            for (int i = 0; i < warmUp; i++) {
                pair();
            }
        });
        each = Math.max(each, warmUp * 5);
        warm.start();
        warm.join();
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
