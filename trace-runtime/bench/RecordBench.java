import dev.anrscope.MethodBeat;

/**
 * What one event costs, in ns, beside the two ways that others record it in Java. Each figure is the median
 * of nine rounds in one JVM, the ways in turn, with an empty loop's time in it. With the argument c2 it
 * checks that Matrix's way lies in its band.
 */
public final class RecordBench {
    private static final int ROUNDS = 9;
    private static final int CALLS = 4_000_000;
    private static final int SIZE = 1_000_000;
    private static final long[] RING = new long[SIZE];
    private static final Thread MAIN = Thread.currentThread();

    private static final int DISPATCH = 0xFFFFE;

    private static volatile int status = 2;
    private static volatile long coarseMillis;
    /** Marks over the ring, of which there are none between two messages. */
    private static Object marks;
    private static boolean inside;
    private static int index;
    private static int lastIndex;

    /** Matrix's i(): its guards, one against re-entry among them. */
    private static void matrixIn(int id) {
        if (status <= -1 || id >= 0xFFFFF) {
            return;
        }
        if (Thread.currentThread() == MAIN) {
            if (inside) {
                return;
            }
            inside = true;
            matrixWord(id, 1);
            inside = false;
        }
    }

    /** Matrix's o(): without that one. */
    private static void matrixOut(int id) {
        if (status <= -1 || id >= 0xFFFFF) {
            return;
        }
        if (Thread.currentThread() == MAIN) {
            matrixWord(id, 0);
        }
    }

    private static void matrixWord(int id, long in) {
        int at = index < SIZE ? index : 0;
        if (id == DISPATCH) {
            coarseMillis = System.nanoTime() / 1_000_000;
        }
        RING[at] = in << 63 | (long) id << 43 | coarseMillis & 0x7FFFFFFFFFFL;
        if (marks != null) {
            throw new IllegalStateException("no marks here");
        }
        lastIndex = at;
        index = at + 1;
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
                    matrixIn(i & 0xFFFF);
                    matrixOut(i & 0xFFFF);
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
        boolean c2 = args.length > 0 && args[0].equals("c2");
        if (c2 && (median[0] < 1.2 || median[0] > 2.0)) {
            System.out.println("INVALID: Matrix's way must lie between 1.2 and 2.0 ns (C2) for this to count");
        }
    }
}
