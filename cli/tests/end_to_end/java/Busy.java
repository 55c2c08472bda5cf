/** Main computes in one method and never returns. */
public final class Busy {
    private static long sum;

    public static void main(String[] arguments) {
        System.out.println("running");
        parseFeed();
    }

    private static void parseFeed() {
        for (long item = 0;; item++) {
            sum += parseItem(item);
        }
    }

    private static long parseItem(long item) {
        long hash = item;
        for (int round = 0; round < 50; round++) {
            hash = hash * 31 ^ round;
        }
        return hash;
    }
}
