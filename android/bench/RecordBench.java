import dev.anrscope.MethodBeat;
import peer.MatrixWay;

/**
 * Measures the cost of recording in a JVM.
 *
 * <p>{@code events CLOCK [c2]}: ns per event, compared with how other tools record it in Java with such a clock. One
 * clock per run: a JVM that has seen both compiles neither as it would alone. The variants alternate in many short
 * rounds; each figure is the median with the 10th and 90th of a hundred, including an empty loop's time, and a ratio is
 * the median of the rounds' ratios. With c2 it checks that the figure for Matrix is in its expected range.
 *
 * <p>{@code rate SECONDS}: 200,000 events per second, each timed: how many took less than 10 us.
 *
 * <p>{@code idle SECONDS}: records a little, waits until the recorder is idle, and counts its threads' context
 * switches.
 */
public final class RecordBench {
    private static final int ROUNDS = 60;
    private static final int CALLS = 200_000;
    private static final int SIZE = 1_000_000;
    private static final Thread MAIN = Thread.currentThread();

    private static long[] ring = new long[SIZE];
    private static int index;

    /** One array store and one clock read per event. */
    private static void nanoTime(int id, long in) {
        if (Thread.currentThread() == MAIN) {
            if (index >= SIZE) {
                index = 0;
            }
            ring[index++] = in << 63 | (long) id << 43 | System.nanoTime() & 0x7FFFFFFFFFFL;
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

    /** Events at an even rate, each between two clock reads, which are included. */
    private static void rate(int seconds) throws Exception {
        final long step = 5_000;
        long count = 0;
        long slow = 0;
        long worst = 0;
        long late = 0;
        // After compilation and the first page faults.
        for (int i = 0; i < 200_000; i++) {
            MethodBeat.i(1);
            MethodBeat.o(1);
        }
        long[] before = faultsAndWaits();
        long begin = System.nanoTime();
        long due = begin;
        long end = begin + seconds * 1_000_000_000L;
        while (due < end) {
            long now = System.nanoTime();
            if (now < due) {
                continue;
            }
            if (now - due > 1_000_000) {
                late++;
                due = now;
            }
            due += step;
            if ((count & 1) == 0) {
                MethodBeat.i(1 + (int) (count & 0xFFF));
            } else {
                MethodBeat.o(1 + (int) (count - 1 & 0xFFF));
            }
            long took = System.nanoTime() - now;
            count++;
            if (took >= 10_000) {
                slow++;
            }
            worst = Math.max(worst, took);
        }
        System.out.printf(
                "%,d events, %.4f %% of stores under 10 us, worst %.0f us (this thread was kept waiting %d times)%n",
                count, 100.0 * (count - slow) / count, worst / 1e3, late);
        // A loop without system calls can only wait for a page.
        long[] after = faultsAndWaits();
        System.out.printf(
                "of this thread: %d page faults, and %d times it slept, which is at a page%n",
                after[0] - before[0], after[1] - before[1]);
    }

    /**
     * Counters of the calling thread: page faults (man 5 proc: fields 10 and 12 of stat) and voluntary context
     * switches.
     */
    private static long[] faultsAndWaits() throws Exception {
        java.nio.file.Path own = java.nio.file.Paths.get("/proc/thread-self");
        String stat = new String(java.nio.file.Files.readAllBytes(own.resolve("stat")));
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        long waits = 0;
        for (String line : java.nio.file.Files.readAllLines(own.resolve("status"))) {
            if (line.startsWith("voluntary_ctxt_switches")) {
                waits = Long.parseLong(line.substring(line.indexOf(':') + 1).trim());
            }
        }
        return new long[] {Long.parseLong(fields[7]) + Long.parseLong(fields[9]), waits};
    }

    private static void idle(int seconds) throws Exception {
        for (int i = 0; i < 1_000; i++) {
            MethodBeat.i(1);
            MethodBeat.o(1);
        }
        // The heartbeat continues for half a minute after the last event.
        Thread.sleep(35_000);
        long before = switches();
        Thread.sleep(seconds * 1_000L);
        System.out.printf(
                "switches of our threads in %d idle seconds: %d%n", seconds, switches() - before);
    }

    /** Voluntary and involuntary context switches of all the recorder's threads. */
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
                // As at a message's begin.
                MatrixWay.mark();
                for (int i = 0; i < n; i++) {
                    MatrixWay.i(i & 0xFFFF);
                    MatrixWay.o(i & 0xFFFF);
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

    /** The ratios of adjacent rounds. */
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
