// Regular expressions: no app method is called.
// loop: Log.filter
import java.util.regex.Pattern;

final class Log {
    private static final Pattern DATE = Pattern.compile("(\\d+)-(\\d+)-(\\d+)[ T]([\\d:.]+)\\s*(.*)");

    static int filter(int seed) {
        int found = seed;
        for (int n = 0; !BusyTime.over(); n++) {
            if (DATE.matcher("2026-11-" + (n & 31) + " 12:00:00.000 the line " + n).matches()) {
                found++;
            }
        }
        return found;
    }
}
