package focus;

/** Log of the activities' actions, in order. */
public final class Log {
    public static final StringBuilder TEXT = new StringBuilder();
    /** Calls of {@code at}: activity and focus. */
    public static final java.util.List<String> EVENTS = new java.util.ArrayList<>();

    public static void add(String line) {
        TEXT.append(line).append('\n');
    }
}
