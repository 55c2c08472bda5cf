// An exception in each iteration, caught in the loop.
// loop: Import.readAll
final class Import {
    static int readAll(int seed) {
        int bad = seed;
        for (int n = 0; (n & 63) != 0 || !BusyTime.over(); n++) {
            try {
                bad += parse("x" + n);
            } catch (NumberFormatException expected) {
                bad++;
            }
        }
        return bad;
    }

    private static int parse(String text) {
        return Integer.parseInt(text);
    }
}
