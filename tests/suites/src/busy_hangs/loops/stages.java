// Two phases of other classes; the second takes 70 % of the time.
// chain: Boot.boot
// loop: Plugins.startAll
// callee: Plugins.startOne
final class Boot {
    static int boot(int seed) {
        int sum = Settings.readAll(seed);
        return sum + Plugins.startAll(seed);
    }
}

final class Settings {
    static int readAll(int seed) {
        int sum = seed;
        for (int n = 0; (n & 255) != 0 || !BusyTime.part(30); n++) {
            sum += readOne(n);
        }
        return sum;
    }

    private static int readOne(int n) {
        return Integer.reverse(n);
    }
}

final class Plugins {
    static int startAll(int seed) {
        int sum = seed;
        for (int n = 0; (n & 255) != 0 || !BusyTime.over(); n++) {
            sum += startOne(n);
        }
        return sum;
    }

    private static int startOne(int n) {
        return Integer.bitCount(n);
    }
}
