// Tiny virtual calls, four deep.
// loop: Scanner.scanAll
// callee: Scanner.token
final class Scanner {
    private int at;

    static int scanAll(int seed) {
        Scanner scanner = new Scanner();
        int sum = seed;
        for (int n = 0; (n & 511) != 0 || !BusyTime.over(); n++) {
            sum += scanner.token(n);
        }
        return sum;
    }

    private int token(int n) {
        return letter(n) + letter(n + 1);
    }

    private int letter(int n) {
        at++;
        return kind(n) ^ at;
    }

    private int kind(int n) {
        return Character.isLetter(n & 127) ? upper(n) : 0;
    }

    private int upper(int n) {
        return Character.toUpperCase(n & 127);
    }
}
