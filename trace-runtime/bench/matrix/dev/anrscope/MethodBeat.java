package dev.anrscope;

/**
 * Matrix's way re-made, in the place of ours: what an instrumented program costs with it. Main only, an array on the
 * heap, a time that is refreshed every 5 ms.
 */
public final class MethodBeat {
    private static final int SIZE = 1_000_000;
    private static final long[] RING = new long[SIZE];
    private static final Thread MAIN = Thread.currentThread();
    private static volatile int status = 2;
    private static volatile long coarseMillis;
    private static Object marks;
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

    private MethodBeat() {}

    public static void i(int id) {
        if (status <= -1 || id >= 0xFFFFF) {
            return;
        }
        if (Thread.currentThread() == MAIN) {
            if (inside) {
                return;
            }
            inside = true;
            word(id, 1);
            inside = false;
        }
    }

    public static void o(int id) {
        if (status <= -1 || id >= 0xFFFFF) {
            return;
        }
        if (Thread.currentThread() == MAIN) {
            word(id, 0);
        }
    }

    private static void word(int id, long in) {
        int at = index < SIZE ? index : 0;
        if (id == 0xFFFFE) {
            coarseMillis = System.nanoTime() / 1_000_000;
        }
        RING[at] = in << 63 | (long) id << 43 | coarseMillis & 0x7FFFFFFFFFFL;
        if (marks != null) {
            throw new IllegalStateException("no marks here");
        }
        lastIndex = at;
        index = at + 1;
    }
}
