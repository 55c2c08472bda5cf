import dev.anrscope.MethodBeat;

/** Makes very many blocking calls that return at once, also one within the other, and now and then one that takes long. */
public final class Hurried {
    private static final int BLOCKING = 6;
    private static final int OUTER = 100 << 4 | BLOCKING;
    private static final int INNER = 101 << 4 | BLOCKING;

    private static void calls(int number) throws InterruptedException {
        for (int n = 1; n <= number; n++) {
            MethodBeat.wb(OUTER, Hurried.class);
            MethodBeat.wb(INNER, Hurried.class);
            if (n % 100_000 == 0) {
                Thread.sleep(30);
            }
            MethodBeat.we(BLOCKING, Hurried.class);
            MethodBeat.we(BLOCKING, Hurried.class);
        }
    }

    public static void main(String[] args) throws Exception {
        MethodBeat.i(1);
        calls(300_000);
        Thread other = new Thread(() -> {
            try {
                calls(300_000);
            } catch (InterruptedException ended) {
                throw new IllegalStateException(ended);
            }
        }, "other");
        other.start();
        other.join();
        MethodBeat.o(1);
    }
}
