// A loop in each of three methods; the outermost one's takes long.
// loop: Grid.paint
// callee: Grid.paintRow
final class Grid {
    static int paint(int seed) {
        int sum = seed;
        for (int row = 0; !BusyTime.over(); row++) {
            sum += paintRow(row & 255);
        }
        return sum;
    }

    private static int paintRow(int row) {
        int sum = 0;
        for (int column = 0; column < 200; column++) {
            sum += paintCell(row, column);
        }
        return sum;
    }

    private static int paintCell(int row, int column) {
        int sum = 0;
        for (int layer = 0; layer < 20; layer++) {
            sum += blend(row ^ column, layer);
        }
        return sum;
    }

    private static int blend(int color, int layer) {
        return Integer.rotateLeft(color, layer);
    }
}
