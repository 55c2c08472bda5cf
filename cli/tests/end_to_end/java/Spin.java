/** Main computes and never returns; after nine seconds another process kills this one. */
public final class Spin {
    static long sum;

    public static void main(String[] arguments) throws Exception {
        long pid = ProcessHandle.current().pid();
        new ProcessBuilder("sh", "-c", "sleep 9; kill -KILL " + pid).start();
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
