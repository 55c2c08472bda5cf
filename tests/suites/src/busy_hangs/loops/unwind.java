// An exception in each iteration, through five calls.
// loop: Decoder.decodeAll
final class Decoder {
    private static final class Broken extends Exception {
        Broken(int at) {
            super("broken at " + at);
        }
    }

    static int decodeAll(int seed) {
        int broken = seed;
        for (int n = 0; (n & 63) != 0 || !BusyTime.over(); n++) {
            try {
                broken += file(n);
            } catch (Broken expected) {
                broken++;
            }
        }
        return broken;
    }

    private static int file(int n) throws Broken {
        return chunk(n + 1) + 1;
    }

    private static int chunk(int n) throws Broken {
        try {
            return line(n + 1) + 1;
        } finally {
            BusyTime.keep(n);
        }
    }

    private static int line(int n) throws Broken {
        return pixel(n + 1) + 1;
    }

    private static int pixel(int n) throws Broken {
        if (n >= 0) {
            throw new Broken(n);
        }
        return Math.abs(n);
    }
}
