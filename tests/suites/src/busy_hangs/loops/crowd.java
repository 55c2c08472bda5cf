// Four more threads that are as busy as main.
// loop: Merge.mergeAll
// callee: Merge.mergeOne
final class Merge {
    static int mergeAll(int seed) {
        for (int n = 0; n < 4; n++) {
            Thread worker = new Thread(new Worker(), "worker-" + n);
            worker.setDaemon(true);
            worker.start();
        }
        int sum = seed;
        for (int n = 0; (n & 1023) != 0 || !BusyTime.over(); n++) {
            sum += mergeOne(n);
        }
        return sum;
    }

    private static int mergeOne(int n) {
        return Math.floorMod(n, 7);
    }

    private static final class Worker implements Runnable {
        @Override
        public void run() {
            int sum = 0;
            for (int n = 0; (n & 1023) != 0 || !BusyTime.over(); n++) {
                sum += step(n);
            }
            BusyTime.keep(sum);
        }

        private int step(int n) {
            return Math.floorDiv(n, 3);
        }
    }
}
