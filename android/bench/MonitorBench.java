package dev.anrscope;

import android.os.Handler;
import android.os.HandlerThread;
import android.os.Looper;
import android.util.Printer;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * Measures the cost of a main message with the library's Printer and with a re-implementation of Matrix's, the cost of
 * the start on main, and the duration of captures.
 */
public final class MonitorBench {
    private static final int LINES = 4096;
    private static final int ROUNDS = 40;
    private static final int MESSAGES = 50_000;
    private static final int CAPTURES = 200;
    /** Duration from which a message of {@link #captures} is an ANR, ms. */
    private static final int ANR_MS = 100;

    private MonitorBench() {}

    public static void main(String[] words) throws Exception {
        switch (words[0]) {
            case "start":
                start();
                break;
            case "install":
                install();
                break;
            case "captures":
                captures();
                break;
            default:
                messages();
        }
    }

    /** Everything main waits for at the start: loading the library, then each step. */
    private static void start() throws Exception {
        Looper.prepareMainLooper();
        Steps steps = new Steps(4);
        System.load(System.getProperty("anrscope.lib"));
        steps.done();
        MethodBeat.i(1);
        steps.done();
        LooperMonitor.start();
        StackSampler.start();
        Reports.start(null);
        steps.done();
        // Cost of the measurement itself.
        steps.done();
        steps.print();
    }

    /** The steps that {@link StartProvider} runs on main, with the defaults. */
    private static void install() throws Exception {
        Looper.prepareMainLooper();
        android.app.Application app = new android.app.Application();
        Steps steps = new Steps(3);
        MethodBeat.i(1);
        steps.done();
        Anrscope.install(app);
        steps.done();
        steps.done();
        steps.print();
    }

    /**
     * Cost of the start's steps on main: elapsed time, CPU time and page faults. Each measurement opens {@code
     * /proc/thread-self/stat}, which separates the steps' system calls in {@code strace}'s output.
     */
    private static final class Steps {
        private final com.sun.management.ThreadMXBean bean =
                (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        private final byte[] text = new byte[1024];
        private final long[][] taken;
        private int count;
        private long wallNs;
        private long cpuNs;
        private long faults;

        Steps(int most) throws Exception {
            taken = new long[most][];
            // Loads the classes of the measurement before the first step.
            measure();
            measure();
        }

        private void measure() throws Exception {
            java.io.FileInputStream stat = new java.io.FileInputStream("/proc/thread-self/stat");
            int length = stat.read(text);
            stat.close();
            // After the name, in brackets, which is "java" on this thread; the 8th field from there on (man 5 proc).
            long value = 0;
            for (int at = 0, field = 0; at < length && field < 10; at++) {
                if (text[at] == ' ') {
                    field++;
                } else if (field == 9) {
                    value = value * 10 + text[at] - '0';
                }
            }
            faults = value;
            cpuNs = bean.getCurrentThreadCpuTime();
            wallNs = System.nanoTime();
        }

        void done() throws Exception {
            long wall = System.nanoTime() - wallNs;
            long cpu = bean.getCurrentThreadCpuTime() - cpuNs;
            long before = faults;
            measure();
            taken[count++] = new long[] {wall, cpu, faults - before};
        }

        /** {@code us}, and for each step microseconds of elapsed and CPU time, and page faults. */
        void print() {
            StringBuilder line = new StringBuilder("us");
            for (int at = 0; at < count; at++) {
                line.append(' ').append(taken[at][0] / 1000).append(' ').append(taken[at][1] / 1000);
                line.append(' ').append(taken[at][2]);
            }
            System.out.println(line);
        }
    }

    /**
     * How long it takes until the data of a report is in the file, beside a thread that never sleeps. For an ANR: from
     * the moment main's message reaches the limit (includes the timer's lateness, main's stack and state, the waiting
     * messages). For a SIGQUIT: from the call that sends it (sensed, forwarded, judged). Data is in the file once it is
     * written to the mapping; main checks the file's length every 100 us, which is included in the figures.
     */
    private static void captures() throws Exception {
        MethodBeat.i(1);
        Looper.prepareMainLooper();
        Natives.set("lag_ms", "0");
        Natives.set("anr_ms", Integer.toString(ANR_MS));
        Reports.start(null);
        StackSampler.start();
        LooperMonitor.start();
        java.lang.reflect.Field logging = Looper.class.getDeclaredField("mLogging");
        logging.setAccessible(true);
        Printer printer = (Printer) logging.get(Looper.getMainLooper());
        String[] line = lines()[1];
        Thread busy =
                new Thread("busy") {
                    @Override
                    public void run() {
                        for (int at = 0; ; at++) {
                            MethodBeat.i(1 + (at & 0xFFF));
                            MethodBeat.o(1 + (at & 0xFFF));
                        }
                    }
                };
        busy.setDaemon(true);
        busy.start();
        Growth growth = new Growth(recording());
        long[] anrs = new long[CAPTURES];
        long[] signals = new long[CAPTURES];
        for (int at = -10; at < CAPTURES; at++) {
            growth.expect();
            printer.println(line[0]);
            long began = System.nanoTime();
            long took = growth.await() - began - ANR_MS * 1_000_000L;
            printer.println(line[1]);
            if (at >= 0) {
                anrs[at] = took;
            }
        }
        for (int at = -10; at < CAPTURES; at++) {
            growth.expect();
            long began = System.nanoTime();
            MethodBeat.dump();
            long took = growth.await() - began;
            if (at >= 0) {
                signals[at] = took;
            }
        }
        captured("ANR of the timer to its snapshot in the file", anrs);
        captured("SIGQUIT to its event and verdict in the file", signals);
        System.exit(0);
    }

    /** On stderr: stdout has the JVM's dumps. */
    private static void captured(String what, long[] ns) {
        Arrays.sort(ns);
        System.err.printf(
                "  %-46s median %6.2f ms, 99 %% %6.2f ms, longest %6.2f ms%n",
                what, ns[ns.length / 2] / 1e6, ns[ns.length * 99 / 100] / 1e6, ns[ns.length - 1] / 1e6);
    }

    /** The recording, once it exists. */
    private static java.io.File recording() throws Exception {
        java.io.File directory = new java.io.File(System.getProperty("anrscope.dir"));
        while (true) {
            java.io.File[] all = directory.listFiles();
            for (java.io.File file : all == null ? new java.io.File[0] : all) {
                if (file.getName().endsWith(".anrscope")) {
                    // Ignores what is written at the start.
                    Thread.sleep(500);
                    return file;
                }
            }
            Thread.sleep(1);
        }
    }

    /** Detects growth of a file. */
    private static final class Growth {
        private final java.io.File file;
        private long length;

        Growth(java.io.File file) {
            this.file = file;
        }

        /** Starts now, once no write is pending. */
        void expect() throws Exception {
            do {
                length = file.length();
                Thread.sleep(30);
            } while (file.length() != length);
        }

        /** When the file had grown. */
        long await() {
            long giveUp = System.nanoTime() + 30_000_000_000L;
            while (file.length() == length) {
                if (System.nanoTime() > giveUp) {
                    throw new IllegalStateException("nothing was written to " + file);
                }
                java.util.concurrent.locks.LockSupport.parkNanos(100_000);
            }
            return System.nanoTime();
        }
    }

    /** The Looper's lines for messages of several handlers and callbacks, each a different object. */
    private static String[][] lines() {
        Object[] handlers = new Object[16];
        for (int at = 0; at < handlers.length; at++) {
            handlers[at] = at % 2 == 0 ? new Handler() : new Handler() {};
        }
        String[][] lines = new String[LINES][];
        for (int at = 0; at < LINES; at++) {
            Object handler = handlers[at % handlers.length];
            Object callback = at % 3 == 0 ? null : at % 3 == 1 ? new Object() : new Task();
            lines[at] =
                    new String[] {
                        ">>>>> Dispatching to " + handler + " " + callback + ": " + (at % 200),
                        "<<<<< Finished to " + handler + " " + callback
                    };
        }
        return lines;
    }

    private static void messages() throws Exception {
        MethodBeat.i(1);
        Looper.prepareMainLooper();
        LooperMonitor.start();
        java.lang.reflect.Field logging = Looper.class.getDeclaredField("mLogging");
        logging.setAccessible(true);
        Printer ours = (Printer) logging.get(Looper.getMainLooper());
        Printer matrix = new MatrixPrinter();
        String[][] lines = lines();
        Printer[] ways = {matrix, ours};
        double[][] ns = new double[2][ROUNDS];
        long[] bytes = new long[2];
        for (int round = -5; round < ROUNDS; round++) {
            for (int way = 0; way < 2; way++) {
                long allocated = allocated();
                double took = run(ways[way], lines);
                if (round >= 0) {
                    ns[way][round] = took;
                    bytes[way] += allocated() - allocated;
                }
            }
        }
        double[] ratios = new double[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            ratios[round] = ns[1][round] / ns[0][round];
        }
        String[] names = {"Matrix's way", "ours"};
        for (int way = 0; way < 2; way++) {
            System.out.printf(
                    "  %-14s %7.1f ns a message, %6.1f bytes allocated on main%n",
                    names[way], median(ns[way]), bytes[way] / (double) ROUNDS / MESSAGES);
        }
        Arrays.sort(ratios);
        System.out.printf(
                "  ours / Matrix's: %.2f (%.2f to %.2f)%n", ratios[ROUNDS / 2], ratios[2], ratios[ROUNDS - 3]);
        System.exit(0);
    }

    private static double run(Printer printer, String[][] lines) {
        long begin = System.nanoTime();
        for (int at = 0; at < MESSAGES; at++) {
            String[] both = lines[at & LINES - 1];
            printer.println(both[0]);
            printer.println(both[1]);
        }
        return (System.nanoTime() - begin) / (double) MESSAGES;
    }

    private static double median(double[] all) {
        double[] sorted = all.clone();
        Arrays.sort(sorted);
        return sorted[sorted.length / 2];
    }

    private static long allocated() {
        return ((com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean())
                .getThreadAllocatedBytes(Thread.currentThread().getId());
    }

    /**
     * Matrix's work per line with the tracers of slow messages and of ANRs enabled, re-implemented: its set of
     * listeners, a mark in the ring per tracer, the times of two clocks, and two tasks posted to a thread at the begin
     * and removed at the end.
     */
    private static final class MatrixPrinter implements Printer {
        private final Set<Listener> listeners = new HashSet<Listener>();
        private boolean checked;
        private boolean valid;

        MatrixPrinter() {
            HandlerThread thread = new HandlerThread("default_matrix_thread");
            thread.setDaemon(true);
            thread.start();
            Handler handler = new Handler(thread.getLooper());
            listeners.add(new Beat());
            listeners.add(new Slow());
            listeners.add(new Anr(handler));
        }

        @Override
        public void println(String x) {
            if (!checked) {
                valid = x.charAt(0) == '>' || x.charAt(0) == '<';
                checked = true;
            }
            if (valid) {
                dispatch(x.charAt(0) == '>', x);
            }
        }

        private void dispatch(boolean begin, String line) {
            synchronized (listeners) {
                for (Listener listener : listeners) {
                    if (listener.valid()) {
                        if (begin) {
                            if (!listener.open) {
                                listener.open = true;
                                listener.begunNs = System.nanoTime();
                                listener.begin(line);
                            }
                        } else if (listener.open) {
                            listener.open = false;
                            listener.end(line, listener.begunNs, System.nanoTime());
                        }
                    }
                }
            }
        }
    }

    private abstract static class Listener {
        boolean open;
        long begunNs;

        boolean valid() {
            return true;
        }

        abstract void begin(String line);

        abstract void end(String line, long begunNs, long endedNs);
    }

    /** A position in the ring, in a list by index. */
    private static final class Mark {
        final int index;
        final String source;
        Mark next;
        boolean valid = true;

        Mark(int index, String source) {
            this.index = index;
            this.source = source;
        }
    }

    private static final class Ring {
        static final long[] WORDS = new long[1_000_000];
        static int index;
        static Mark first;

        static Mark mark(String source) {
            Mark mark = new Mark(index, source);
            Mark before = null;
            Mark at = first;
            while (at != null && at.index < mark.index) {
                before = at;
                at = at.next;
            }
            mark.next = at;
            if (before == null) {
                first = mark;
            } else {
                before.next = mark;
            }
            return mark;
        }

        static void release(Mark mark) {
            mark.valid = false;
            Mark before = null;
            for (Mark at = first; at != null; before = at, at = at.next) {
                if (at == mark) {
                    if (before == null) {
                        first = at.next;
                    } else {
                        before.next = at.next;
                    }
                    return;
                }
            }
        }

        static void word(long bit) {
            index = index + 1 == WORDS.length ? 0 : index + 1;
            WORDS[index] = bit << 63 | 0xFFFFEL << 43 | System.nanoTime() / 1_000_000;
        }
    }

    /** Its clock thread: woken at a message's begin. */
    private static final class Beat extends Listener {
        private final Object lock = new Object();
        private volatile boolean paused;

        @Override
        void begin(String line) {
            Ring.word(1);
            paused = false;
            synchronized (lock) {
                lock.notify();
            }
        }

        @Override
        void end(String line, long begunNs, long endedNs) {
            Ring.word(0);
            paused = true;
        }
    }

    private static final class Slow extends Listener {
        private Mark mark;

        @Override
        void begin(String line) {
            mark = Ring.mark("EvilMethodTracer#dispatchBegin");
        }

        @Override
        void end(String line, long begunNs, long endedNs) {
            if ((endedNs - begunNs) / 1_000_000 >= 700) {
                throw new IllegalStateException("not in this bench");
            }
            Ring.release(mark);
        }
    }

    private static final class Anr extends Listener {
        private final Handler handler;
        private final Runnable anr = new Task();
        private final Runnable lag = new Task();
        private Mark mark;

        Anr(Handler handler) {
            this.handler = handler;
        }

        @Override
        void begin(String line) {
            mark = Ring.mark("AnrTracer#dispatchBegin");
            handler.postDelayed(anr, 5000);
            handler.postDelayed(lag, 2000);
        }

        @Override
        void end(String line, long begunNs, long endedNs) {
            Ring.release(mark);
            handler.removeCallbacks(anr);
            handler.removeCallbacks(lag);
        }
    }

    private static final class Task implements Runnable {
        @Override
        public void run() {
            throw new IllegalStateException("no message of this bench is late");
        }
    }
}
