import dev.anrscope.MethodBeat;

/** Threads that make nested calls without end, nearly all of them short; prints which lasted. */
public final class ShortCalls {
    private static final long LONG = 30_000_000;

    private static final StringBuilder output = new StringBuilder();

    /** Each thread's ids of calls that may last are different, to identify them later. */
    private int next;

    private long calls;

    private long random;

    private ShortCalls(int number) {
        next = 100_000 * (number + 1);
        random = number + 1;
    }

    public static void main(String[] words) throws InterruptedException {
        int threads = Integer.parseInt(words[0]);
        long until = System.nanoTime() + Long.parseLong(words[1]) * 1_000_000;
        ShortCalls own = new ShortCalls(0);
        // The thread of the first call is main to the recorder.
        own.call(1, 0);
        Thread[] others = new Thread[threads - 1];
        for (int i = 0; i < others.length; i++) {
            ShortCalls of = new ShortCalls(i + 1);
            others[i] = new Thread(() -> of.run(until), "short-" + i);
            others[i].start();
        }
        own.run(until);
        for (Thread other : others) {
            other.join();
        }
        System.out.print(output);
    }

    private void run(long until) {
        while (System.nanoTime() < until) {
            call(1 + (int) (draw() % 50), 4);
            if (draw() % 2_000 == 0) {
                last();
            }
        }
        synchronized (output) {
            output.append("calls ").append(calls).append('\n');
        }
    }

    private void call(int id, int depth) {
        MethodBeat.i(id);
        calls++;
        for (long inner = draw() % 3; depth > 0 && inner > 0; inner--) {
            call(1 + (int) (draw() % 50), depth - 1);
        }
        MethodBeat.o(id);
    }

    /** A call long enough that it must be recorded, with short ones inside. */
    private void last() {
        int id = next++;
        long begin = System.nanoTime();
        MethodBeat.i(id);
        calls++;
        while (System.nanoTime() - begin < LONG) {
            call(60, 2);
        }
        MethodBeat.o(id);
        long took = System.nanoTime() - begin;
        synchronized (output) {
            output.append(Thread.currentThread().getName()).append(' ').append(id).append(' ').append(begin).append(' ');
            output.append(took).append('\n');
        }
    }

    private long draw() {
        random ^= random << 13;
        random ^= random >>> 7;
        random ^= random << 17;
        return random >>> 1;
    }
}
