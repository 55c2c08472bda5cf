// Three loops in one method.
// loop: Matrix.multiply
// callee: Matrix.cell
final class Matrix {
    static int multiply(int seed) {
        int sum = seed;
        while (!BusyTime.over()) {
            for (int row = 0; row < 30; row++) {
                for (int column = 0; column < 30; column++) {
                    sum += cell(row, column);
                }
            }
        }
        return sum;
    }

    private static int cell(int row, int column) {
        return Math.min(row, column) + 1;
    }
}
