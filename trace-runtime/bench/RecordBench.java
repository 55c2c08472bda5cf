import dev.anrscope.MethodBeat;

/**
 * What recording costs in a JVM.
 *
 * <p>{@code events CLOCK [c2]}: what one event costs, in ns, beside the way that others record it in Java with
 * such a clock. One clock a run: a JVM that has seen both compiles neither as it would alone. The ways take
 * turns in many short rounds; each figure is the median with the 10th and 90th of a hundred, an empty loop's time in it,
 * and a ratio is the median of the ratios of the rounds. With c2 it checks that Matrix's way lies in its band.
 *
 * <p>{@code rate SECONDS}: 200,000 events a second, each timed: how many took less than 10 us.
 *
 * <p>{@code idle SECONDS}: records a little, waits until the recorder rests, and counts the switches of its threads.
 */
public final class RecordBench {
    private static final int ROUNDS = 60;
    private static final int CALLS = 200_000;
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

    public static void main(String[] args) throws Exception {
        // The recorded main thread is the one that initialises the class.
        MethodBeat.method(1, true);
        switch (args[0]) {
            case "rate":
                rate(Integer.parseInt(args[1]));
                break;
            case "idle":
                idle(Integer.parseInt(args[1]));
                break;
            default:
                events(args[1].equals("coarse"), args.length > 2 && args[2].equals("c2"));
        }
        System.exit(0);
    }

    /** Stores at an even pace, each between two readings of the clock, which are in the figure. */
    private static void rate(int seconds) {
        final long step = 5_000;
        long count = 0;
        long slow = 0;
        long worst = 0;
        long late = 0;
        // Compiled, and past the first faults.
        for (int i = 0; i < 200_000; i++) {
            MethodBeat.i(1);
            MethodBeat.o(1);
        }
        long begin = System.nanoTime();
        long due = begin;
        long end = begin + seconds * 1_000_000_000L;
        while (due < end) {
            long before = System.nanoTime();
            if (before < due) {
                continue;
            }
            if (before - due > 1_000_000) {
                late++;
                due = before;
            }
            due += step;
            if ((count & 1) == 0) {
                MethodBeat.i(1 + (int) (count & 0xFFF));
            } else {
                MethodBeat.o(1 + (int) (count - 1 & 0xFFF));
            }
            long took = System.nanoTime() - before;
            count++;
            if (took >= 10_000) {
                slow++;
            }
            worst = Math.max(worst, took);
        }
        System.out.printf(
                "%,d events, %.4f %% of stores under 10 us, worst %.0f us (this thread was kept waiting %d times)%n",
                count, 100.0 * (count - slow) / count, worst / 1e3, late);
    }

    private static void idle(int seconds) throws Exception {
        for (int i = 0; i < 1_000; i++) {
            MethodBeat.i(1);
            MethodBeat.o(1);
        }
        // The heartbeat goes on for half a minute after the last event.
        Thread.sleep(35_000);
        long before = switches();
        Thread.sleep(seconds * 1_000L);
        System.out.printf(
                "switches of our threads in %d idle seconds: %d%n", seconds, switches() - before);
    }

    /** Voluntary and involuntary switches of all threads of ours. */
    private static long switches() throws Exception {
        long sum = 0;
        for (java.io.File task : new java.io.File("/proc/self/task").listFiles()) {
            java.util.List<String> status = java.nio.file.Files.readAllLines(task.toPath().resolve("status"));
            if (status.get(0).contains("anrscope-")) {
                for (String line : status) {
                    if (line.contains("ctxt_switches")) {
                        sum += Long.parseLong(line.substring(line.indexOf(':') + 1).trim());
                    }
                }
            }
        }
        return sum;
    }

    private static void events(boolean coarse, boolean c2) {
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

        String[] names = {"matrix", "nanotime", coarse ? "coarse" : "precise"};
        Way ours =
                n -> {
                    for (int i = 0; i < n; i++) {
                        MethodBeat.i((i & 0xFFFF) + 1);
                        MethodBeat.o((i & 0xFFFF) + 1);
                    }
                };
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
            ours,
        };
        double[][] figures = new double[ways.length][ROUNDS];
        for (int round = -20; round < ROUNDS; round++) {
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
            double[] sorted = figures[way].clone();
            java.util.Arrays.sort(sorted);
            median[way] = sorted[ROUNDS / 2];
            System.out.printf(
                    "%-9s %6.2f ns/event  (%.2f to %.2f, best %.2f)%n",
                    names[way], median[way], sorted[ROUNDS / 10], sorted[ROUNDS * 9 / 10], sorted[0]);
        }
        ratio(names[2] + " / " + names[coarse ? 0 : 1], figures[2], figures[coarse ? 0 : 1]);
        if (c2 && (median[0] < 1.2 || median[0] > 2.0)) {
            System.out.println("INVALID: Matrix's way must lie between 1.2 and 2.0 ns (C2) for this to count");
        }
    }

    /** The ratios of rounds that were next to each other. */
    private static void ratio(String name, double[] ours, double[] theirs) {
        double[] ratios = new double[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            ratios[i] = ours[i] / theirs[i];
        }
        java.util.Arrays.sort(ratios);
        System.out.printf(
                "%-18s = %.2f  (%.2f to %.2f)%n", name, ratios[ROUNDS / 2], ratios[ROUNDS / 10], ratios[ROUNDS * 9 / 10]);
    }
}
