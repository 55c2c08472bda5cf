// Two phases; the first takes 70 % of the time.
// chain: Warmup.warm
// loop: Warmup.decodeAll
// callee: Warmup.decode
final class Warmup {
    static int warm(int seed) {
        return decodeAll(seed) + indexAll(seed);
    }

    private static int decodeAll(int seed) {
        int sum = seed;
        for (int n = 0; (n & 255) != 0 || !BusyTime.part(70); n++) {
            sum += decode(n);
        }
        return sum;
    }

    private static int decode(int n) {
        return Integer.reverse(n);
    }

    private static int indexAll(int seed) {
        int sum = seed;
        for (int n = 0; (n & 255) != 0 || !BusyTime.over(); n++) {
            sum += index(n);
        }
        return sum;
    }

    private static int index(int n) {
        return Integer.bitCount(n);
    }
}
