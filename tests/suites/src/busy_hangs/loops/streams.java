// Streams and lambdas.
// loop: Totals.addUp
import java.util.stream.IntStream;

final class Totals {
    private final int factor;

    private Totals(int factor) {
        this.factor = factor;
    }

    static int addUp(int seed) {
        Totals totals = new Totals(3);
        int sum = seed;
        while (!BusyTime.over()) {
            sum += IntStream.range(0, 200).filter(n -> totals.odd(n)).map(totals::scale).sum();
        }
        return sum;
    }

    private boolean odd(int n) {
        return Math.floorMod(n, 2) == 1;
    }

    private int scale(int n) {
        return Math.multiplyExact(n, factor);
    }
}
