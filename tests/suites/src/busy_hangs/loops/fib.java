// Recursion, called repeatedly.
// loop: Series.fill
// callee: Series.fib
final class Series {
    static int fill(int seed) {
        int sum = seed;
        while (!BusyTime.over()) {
            sum += fib(16 + (sum & 3));
        }
        return sum;
    }

    private static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }
}
