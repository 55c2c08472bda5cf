// The loop is in a callee's callee, behind others that took a while and returned.
// chain: Outer.start, Outer.middle
// loop: Inner.copyAll
// callee: Inner.copy
final class Outer {
    static int start(int seed) {
        int sum = prepare(seed, 2);
        sum += middle(seed);
        return sum + 1;
    }

    private static int middle(int seed) {
        int sum = prepare(seed, 4);
        return sum + Inner.copyAll(seed);
    }

    /** Until this many percent of the hang are over. */
    private static int prepare(int seed, int percent) {
        int sum = seed;
        for (int n = 0; (n & 255) != 0 || !BusyTime.part(percent); n++) {
            sum += Inner.copy(n);
        }
        return sum;
    }
}

final class Inner {
    static int copyAll(int seed) {
        int sum = seed;
        for (int n = 0; (n & 1023) != 0 || !BusyTime.over(); n++) {
            sum += copy(n);
        }
        return sum;
    }

    static int copy(int n) {
        return Integer.highestOneBit(n);
    }
}
