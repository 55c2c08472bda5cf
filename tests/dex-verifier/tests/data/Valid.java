import java.util.ArrayList;
import java.util.List;

/** Code of many kinds that has no fault: source of valid.dex. */
class Valid {
    private static final int[] TABLE = {3, 1, 4, 1, 5};
    private final List<String> names = new ArrayList<>();
    private long total;
    private boolean open;
    private double factor = 1.5;

    Valid(String first, long start) {
        names.add(first);
        total = start;
    }

    synchronized long add(int value) {
        total += value;
        return total;
    }

    int find(String name) {
        int position = 0;
        for (String candidate : names) {
            if (candidate.equals(name)) {
                return position;
            }
            position++;
        }
        return -1;
    }

    String describe(Object value) {
        if (value instanceof Valid) {
            return ((Valid) value).names.get(0);
        }
        switch (value.hashCode() % 7) {
            case 0: return "zero";
            case 1: return "one";
            case 2: return value.toString();
            default: return null;
        }
    }

    double mean(float[] values, byte[] weights, char letter) {
        double sum = 0;
        for (int i = 0; i < values.length; i++) {
            sum += values[i] * weights[i % weights.length] + letter;
        }
        return sum / Math.max(1, values.length) * factor;
    }

    int parse(String text) {
        int result = 1;
        try {
            result = Integer.parseInt(text);
            names.add(text);
        } catch (NumberFormatException wrong) {
            names.add(wrong.getMessage() + result);
        } finally {
            open = false;
        }
        return result;
    }

    long locked(Object lock, int shift) {
        synchronized (lock) {
            if (open) {
                return TABLE[shift & 3] * total;
            }
            open = true;
            notifyAll();
        }
        return (total << shift) ^ (total >>> 3);
    }

    static Object[] nested(int size) {
        Object[][] grid = new Object[size][];
        for (int row = 0; row < size; row++) {
            grid[row] = new Object[] {row, "x", null, new Valid("y", row)};
        }
        return grid[size - 1];
    }
}
