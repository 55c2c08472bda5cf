// A search that does not end: the recursion is the loop.
// chain: Puzzle.solve
// loop: Puzzle.place
// also: Puzzle.solve: the one call of the search is in it
final class Puzzle {
    private static final int SIZE = 40;
    private final int[] columns = new int[SIZE];
    private int tries;

    static int solve(int seed) {
        Puzzle puzzle = new Puzzle();
        puzzle.tries = seed & 1;
        return puzzle.place(0) ? puzzle.tries : -puzzle.tries;
    }

    private boolean place(int row) {
        if (row == SIZE) {
            // No first solution is good enough.
            return BusyTime.over();
        }
        for (int column = SIZE - 1; column >= 0; column--) {
            if ((++tries & 4095) == 0 && BusyTime.over()) {
                return true;
            }
            if (free(row, column)) {
                columns[row] = column;
                if (place(row + 1)) {
                    return true;
                }
            }
        }
        return false;
    }

    private boolean free(int row, int column) {
        for (int other = 0; other < row; other++) {
            int distance = Math.abs(columns[other] - column);
            if (distance == 0 || distance == row - other) {
                return false;
            }
        }
        return true;
    }
}
