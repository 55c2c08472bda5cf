/** Main computes and never returns; after nine seconds another thread kills the process. */
public final class Spin {
    static long sum;

    public static void main(String[] arguments) {
        Thread killer = new Thread(Spin::kill);
        killer.setDaemon(true);
        killer.start();
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

    private static void kill() {
        try {
            Thread.sleep(9_000);
            String pid = Long.toString(ProcessHandle.current().pid());
            new ProcessBuilder("kill", "-KILL", pid).start().waitFor();
        } catch (Exception impossible) {
            throw new AssertionError(impossible);
        }
    }
}
