package dev.anrscope;

import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** An ANR, with what was known when it was detected. {@code docs/monitors.md} lists all {@link #values}. */
public final class Anr {
    private final Map<String, String> values;
    private final String stack;

    private Anr(Map<String, String> values, String stack) {
        this.values = Collections.unmodifiableMap(values);
        this.stack = stack;
    }

    /** Parses lines {@code key=value}, an empty line, and main's stack up to the next empty line. */
    static Anr of(String text, int from) {
        Map<String, String> values = new LinkedHashMap<String, String>();
        int end = values(text, from, values);
        int behind = text.indexOf("\n\n", end);
        return new Anr(values, text.substring(Math.min(end, text.length()), behind < 0 ? text.length() : behind));
    }

    /** All known values, by the keys of the recording's snapshot. */
    public Map<String, String> values() {
        return values;
    }

    /** What detected it: {@code looper} for the timer, {@code sigquit} for the signal. */
    public String detector() {
        return text("detector");
    }

    /** Main's stack, one frame per line, innermost first; empty if it is not available. */
    public String stackTrace() {
        return stack;
    }

    /** Main's {@code Thread.State}. */
    public String state() {
        return text("state");
    }

    /** The message that main was handling: {@code target callback: what}; empty if main was in no message. */
    public String message() {
        return text("message");
    }

    /** How long main had been handling that message, in ms; 0 if main was in no message. */
    public long ageMs() {
        long since = number("message_since");
        return since == 0 ? 0 : (number("at") - since) / 1000000;
    }

    /**
     * The message at the head of the queue, in the form of {@code Looper.dump} without its object and arguments. Empty
     * if no message waits or the queue cannot be read.
     */
    public String head() {
        return text("head");
    }

    /** When that message was due, in ms relative to the ANR: negative if it is overdue, 0 if no message waits. */
    public long headWhenMs() {
        return number("head_when_ms");
    }

    /** Whether this process was in the system's list of processes in error. */
    public boolean isFromErrorState() {
        return number("from_error_state") != 0;
    }

    /** Whether the app was in the foreground. */
    public boolean isForeground() {
        return number("foreground") != 0;
    }

    /** The current scene: the activity's class, or what {@link Anrscope#setScene} set. */
    public String scene() {
        return text("scene");
    }

    /** The process's cgroup, its lines joined by spaces. */
    public String cgroup() {
        return text("cgroup");
    }

    private String text(String key) {
        String value = values.get(key);
        return value == null ? "" : value;
    }

    private long number(String key) {
        try {
            return Long.parseLong(text(key));
        } catch (NumberFormatException none) {
            return 0;
        }
    }

    /** Parses lines {@code key=value} up to an empty line. Returns the index after that line. */
    static int values(String text, int from, Map<String, String> values) {
        int at = from;
        while (at < text.length()) {
            int end = text.indexOf('\n', at);
            if (end < 0) {
                end = text.length();
            }
            if (end == at) {
                return end + 1;
            }
            int equals = text.indexOf('=', at);
            if (equals > 0 && equals < end) {
                values.put(text.substring(at, equals), text.substring(equals + 1, end));
            }
            at = end + 1;
        }
        return text.length();
    }
}
