// Many tiny calls, each with two more.
// loop: Parser.parseFeed
// callee: Parser.parseItem
final class Parser {
    static int parseFeed(int seed) {
        int sum = seed;
        for (int n = 0; (n & 1023) != 0 || !BusyTime.over(); n++) {
            sum += parseItem(n);
        }
        return sum;
    }

    private static int parseItem(int n) {
        return digit(n) + sign(n);
    }

    private static int digit(int n) {
        return Math.abs(n % 10);
    }

    private static int sign(int n) {
        return Integer.signum(n);
    }
}
