package dev.anrscope;

import android.os.Handler;
import android.os.HandlerThread;
import android.os.Looper;
import android.util.Printer;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/** What a message of main costs with our Printer, and with Matrix's way re-made; and what starting costs main. */
public final class MonitorBench {
    private static final int LINES = 4096;
    private static final int ROUNDS = 40;
    private static final int MESSAGES = 50_000;

    private MonitorBench() {}

    public static void main(String[] words) throws Exception {
        if (words[0].equals("start")) {
            start();
        } else {
            messages();
        }
    }

    /** What main waits for: loading the library, and then everything that it is asked to do. */
    private static void start() {
        Looper.prepareMainLooper();
        long begin = System.nanoTime();
        System.load(System.getProperty("anrscope.lib"));
        long loaded = System.nanoTime();
        MethodBeat.i(1);
        long recording = System.nanoTime();
        LooperMonitor.start();
        StackSampler.start();
        Reports.start(null);
        long watching = System.nanoTime();
        System.out.println(
                "us " + (loaded - begin) / 1000 + " " + (recording - loaded) / 1000 + " " + (watching - recording) / 1000);
    }

    /** The Looper's lines of messages of some handlers and callbacks, each object another one. */
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
     * What Matrix does at each line with the tracers of slow messages and of ANRs on, re-made: its listeners in a set, a mark in
     * the ring for each tracer, the times of two clocks, and two tasks posted to a thread at the begin and taken back at the
     * end.
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

    /** A place in the ring, in a list by index. */
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

    /** Its clock: woken at the begin. */
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
