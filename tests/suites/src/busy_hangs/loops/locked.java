// An uncontended lock in each iteration.
// loop: Journal.appendAll
// callee: Journal.append
final class Journal {
    private final Object lock = new Object();
    private int length;

    static int appendAll(int seed) {
        Journal journal = new Journal();
        for (int n = 0; (n & 255) != 0 || !BusyTime.over(); n++) {
            journal.append(n ^ seed);
        }
        return journal.length;
    }

    private void append(int n) {
        synchronized (lock) {
            length += size(n);
        }
    }

    private synchronized int size(int n) {
        return Integer.toString(n).length();
    }
}
