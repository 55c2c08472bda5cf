// Calls of a few milliseconds.
// loop: Database.readRows
// callee: Database.readRow
final class Database {
    static int readRows(int seed) {
        int sum = seed;
        for (int row = 0; !BusyTime.over(); row++) {
            sum += readRow(row);
        }
        return sum;
    }

    private static int readRow(int row) {
        int sum = 0;
        for (int column = 0; column < 100_000; column++) {
            sum += field(row, column);
        }
        return sum;
    }

    private static int field(int row, int column) {
        return Math.floorMod(row * 31 + column, 97);
    }
}
