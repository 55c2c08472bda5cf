/** A descent to near the end of the stack. The proof's rules leave this class untraced, so that a descent costs little. */
final class Dive {
    /** What runs at the end of a descent. */
    interface Body {
        void run() throws Exception;
    }

    private static int left;

    private Dive() {}

    /**
     * Returns the number of frames after which {@code body} cannot even be called, for this mix of frame sizes. Frames change their size when the JVM compiles
     * them, so the answer counts when it comes twice.
     */
    static int brim(int mix, Body body) {
        int last = -1;
        for (int times = 0; times < 20; times++) {
            int most = 1 << 20;
            try {
                to(most, mix, body);
            } catch (StackOverflowError expected) {
                if (most - left == last) {
                    break;
                }
                last = most - left;
            } catch (Exception never) {
                throw new AssertionError(never);
            }
        }
        return last;
    }

    /** Descends often enough for the JVM to compile the descent, so that its frames keep their size. */
    static void warmUp(int times) throws Exception {
        for (int i = 0; i < times; i++) {
            to(32, i * 0x9E3779B9, () -> {});
        }
    }

    /** Runs {@code body} below {@code depth} frames of two sizes, in the order of the bits of {@code mix}. */
    static void to(int depth, int mix, Body body) throws Exception {
        narrow(depth, mix, body);
    }

    private static int narrow(int depth, int mix, Body body) throws Exception {
        left = depth;
        if (depth == 0) {
            body.run();
            return 0;
        }
        int next = mix >>> 1 | mix << 31;
        return ((mix & 1) == 0 ? narrow(depth - 1, next, body) : wide(depth - 1, next, body, mix, mix, mix)) + 1;
    }

    private static int wide(int depth, int mix, Body body, long a, long b, long c) throws Exception {
        left = depth;
        if (depth == 0) {
            body.run();
            return 0;
        }
        int next = mix >>> 1 | mix << 31;
        long sum = a + b * c;
        return ((mix & 1) == 0 ? narrow(depth - 1, next, body) : wide(depth - 1, next, body, sum, a, b)) + (int) (sum & 1);
    }
}
