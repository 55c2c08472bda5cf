/**
 * Overflows the stack in several ways, and makes calls after each whose callers are known: {@code Callers OVERFLOWS} prints for each of these methods the
 * methods that are on the stack when it is called, and stays in the last one for half a second.
 */
public final class Callers {
    static final Object LOCK = new Object();
    static int finallies;
    static int caught;

    static int parse(int depth) {
        return value(depth + 1) + 1;
    }

    static int value(int depth) {
        synchronized (LOCK) {
            return parse(depth + 1) + 1;
        }
    }

    static int open(int depth) {
        try {
            return close(depth + 1) + 1;
        } finally {
            finallies++;
        }
    }

    static synchronized int close(int depth) {
        return open(depth + 1) + 1;
    }

    /** Catches the error on each level of the innermost ones, and goes on there. */
    static int retry(int depth) {
        try {
            return again(depth + 1) + 1;
        } catch (StackOverflowError overflow) {
            caught++;
            if (caught % 7 != 0) {
                throw overflow;
            }
            return tail(depth);
        }
    }

    static int again(int depth) {
        return retry(depth + 1) + 1;
    }

    static int tail(int depth) {
        return Integer.toString(depth).length();
    }

    static void overflow(int way) {
        try {
            switch (way % 3) {
                case 0: parse(0); break;
                case 1: open(0); break;
                default: retry(0); break;
            }
        } catch (StackOverflowError expected) {
            caught++;
        }
    }

    static void marker() throws InterruptedException {
        Thread.sleep(3);
        inner();
    }

    static void inner() throws InterruptedException {
        Thread.sleep(3);
    }

    /** Overflows below callers that stay. */
    static void below(int levels, int way) throws InterruptedException {
        if (levels == 0) {
            overflow(way);
            marker();
        } else {
            below(levels - 1, way);
        }
    }

    static void stay() {
        long end = System.nanoTime() + 500_000_000L;
        int steps = 0;
        while (System.nanoTime() < end) {
            steps += step();
        }
        System.out.println("steps " + (steps > 0));
    }

    static int step() {
        long end = System.nanoTime() + 5_000_000L;
        while (System.nanoTime() < end) {
            Thread.yield();
        }
        return 1;
    }

    public static void main(String[] arguments) throws Exception {
        int overflows = Integer.parseInt(arguments[0]);
        for (int i = 0; i < overflows; i++) {
            below(i % 5, i);
            // The same in a method that goes on itself, so that none of its own ends follows the overflow.
            try {
                if (i % 2 == 0) {
                    parse(0);
                } else {
                    open(0);
                }
            } catch (StackOverflowError expected) {
                caught++;
            }
            marker();
        }
        stay();
        marker();
        System.out.println("callers Callers.marker: Callers.main Callers.below");
        System.out.println("callers Callers.inner: Callers.main Callers.below Callers.marker");
        System.out.println("callers Callers.stay: Callers.main");
        System.out.println("callers Callers.step: Callers.main Callers.stay");
    }
}
