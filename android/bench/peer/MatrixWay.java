package peer;

/**
 * Re-implements Matrix's work per event in i() and o(), and nothing else: the status, checked twice in i(); the
 * listener of all threads; the thread by its id; the guard against re-entry, in i() only; the ring, which can be
 * released and so is not a constant; the refresh of the clock at a message's bounds; the check of the oldest mark, of
 * which there is one during a message; the last index. Main only, which is the thread that initialises the class; its
 * time is refreshed every 5 ms.
 */
public class MatrixWay {
    private static final int SIZE = 1_000_000;
    private static final int DISPATCH = 0xFFFFE;
    private static final int DEFAULT = Integer.MAX_VALUE;
    private static final long MAIN_ID = Thread.currentThread().getId();
    private static final Object LOCK = new Object();
    private static volatile int status = 2;
    private static volatile long coarseMillis;
    private static Listener listener;
    private static long[] ring = new long[SIZE];
    private static Mark marks = new Mark(-1);
    private static boolean inside;
    private static int index;
    private static int lastIndex;

    static {
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
    }

    protected MatrixWay() {}

    private interface Listener {
        void enter(int id, long thread);
    }

    private static final class Mark {
        final int index;
        boolean valid = true;
        Mark next;

        Mark(int index) {
            this.index = index;
        }
    }

    /** A message begins: a mark at the last event. */
    public static void mark() {
        marks = new Mark(index - 1);
    }

    public static void i(int id) {
        if (status <= -1 || id >= 0xFFFFF) {
            return;
        }
        if (status == DEFAULT) {
            synchronized (LOCK) {
                status = 1;
            }
        }
        long thread = Thread.currentThread().getId();
        if (listener != null) {
            listener.enter(id, thread);
        }
        if (thread == MAIN_ID) {
            if (inside) {
                return;
            }
            inside = true;
            next(id, true);
            inside = false;
        }
    }

    public static void o(int id) {
        if (status <= -1 || id >= 0xFFFFF) {
            return;
        }
        if (Thread.currentThread().getId() == MAIN_ID) {
            next(id, false);
        }
    }

    private static void next(int id, boolean in) {
        if (index >= SIZE) {
            index = 0;
        }
        word(id, index, in);
        ++index;
    }

    private static void word(int id, int at, boolean in) {
        if (id == DISPATCH) {
            coarseMillis = System.nanoTime() / 1_000_000;
        }
        try {
            long word = in ? Long.MIN_VALUE : 0;
            ring[at] = word | (long) id << 43 | coarseMillis & 0x7FFFFFFFFFFL;
            while (marks != null && (marks.index == at || marks.index == -1 && lastIndex == SIZE - 1)) {
                marks.valid = false;
                marks = marks.next;
            }
            lastIndex = at;
        } catch (Exception none) {
            throw new IllegalStateException(none);
        }
    }
}
