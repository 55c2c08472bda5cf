import dev.anrscope.MethodBeat;

/**
 * What one event costs, in ns, beside the two ways that others record it in Java. Each figure is the median
 * of nine rounds in one JVM, the ways in turn, with an empty loop's time in it.
 */
public final class RecordBench {
    private static final int ROUNDS = 9;
    private static final int CALLS = 4_000_000;
    private static final int SIZE = 1_000_000;
    private static final long[] RING = new long[SIZE];
    private static final Thread MAIN = Thread.currentThread();

    private static int index;
    private static volatile long coarseMillis;

    /** Matrix: the id and a time that a thread refreshes every 5 ms, on the main thread only. */
    private static void matrix(int id, long in) {
        if (Thread.currentThread() == MAIN) {
            if (index >= SIZE) {
                index = 0;
            }
            RING[index++] = in << 63 | (long) id << 43 | coarseMillis & 0x7FFFFFFFFFFL;
        }
    }

    /** The same with a clock read an event. */
    private static void nanoTime(int id, long in) {
        if (Thread.currentThread() == MAIN) {
            if (index >= SIZE) {
                index = 0;
            }
            RING[index++] = in << 63 | (long) id << 43 | System.nanoTime() & 0x7FFFFFFFFFFL;
        }
    }

    private interface Way {
        void run(int calls);
    }

    public static void main(String[] args) {
        Thread ticker =
                new Thread(
                        () -> {
                            while (true) {
                                coarseMillis = System.nanoTime() / 1_000_000;
                                try {
                                    Thread.sleep(5);
                                } catch (InterruptedException e) {
                                    return;
                                }
                            }
                        });
        ticker.setDaemon(true);
        ticker.start();

        String[] names = {"matrix", "nanotime", "precise"};
        Way[] ways = {
            n -> {
                for (int i = 0; i < n; i++) {
                    matrix(i & 0xFFFF, 1);
                    matrix(i & 0xFFFF, 0);
                }
            },
            n -> {
                for (int i = 0; i < n; i++) {
                    nanoTime(i & 0xFFFF, 1);
                    nanoTime(i & 0xFFFF, 0);
                }
            },
            n -> {
                for (int i = 0; i < n; i++) {
                    MethodBeat.i((i & 0xFFFF) + 1);
                    MethodBeat.o((i & 0xFFFF) + 1);
                }
            },
        };
        double[][] figures = new double[ways.length][ROUNDS];
        for (int round = -2; round < ROUNDS; round++) {
            for (int way = 0; way < ways.length; way++) {
                long begin = System.nanoTime();
                ways[way].run(CALLS);
                double each = (System.nanoTime() - begin) / (2.0 * CALLS);
                if (round >= 0) {
                    figures[way][round] = each;
                }
            }
        }
        double[] median = new double[ways.length];
        for (int way = 0; way < ways.length; way++) {
            java.util.Arrays.sort(figures[way]);
            median[way] = figures[way][ROUNDS / 2];
            System.out.printf(
                    "%-9s %6.2f ns/event  (%.2f to %.2f)%n",
                    names[way], median[way], figures[way][0], figures[way][ROUNDS - 1]);
        }
        System.out.printf("precise / nanotime = %.2f%n", median[2] / median[1]);
        if (median[0] < 1.2 || median[0] > 2.0) {
            System.out.println("INVALID: Matrix's way must lie between 1.2 and 2.0 ns (C2) for this to count");
        }
    }
}
