// Text is concatenated, some of it by the app.
// loop: Page.render
final class Page {
    static int render(int seed) {
        int length = seed;
        for (int n = 0; !BusyTime.over(); n++) {
            StringBuilder row = new StringBuilder();
            for (int column = 0; column < 8; column++) {
                row.append(String.format("%04d", n)).append(cell(n, column));
            }
            length += row.toString().trim().length();
        }
        return length;
    }

    private static String cell(int row, int column) {
        return "<td>" + Integer.toHexString(row * column) + "</td>";
    }
}
