package dev.anrscope.export;

/** A stall of the main thread, as {@code anrscope report} explains it. */
public final class Stall {
    private static final int VALUES = 5;

    private final String lines;
    private final long sinceMs;
    private final long durationMs;
    private final boolean ended;
    private final String blocked;
    private final String reason;
    private final String text;

    private Stall(String lines) {
        this.lines = lines;
        String[] parts = lines.split("\n", VALUES + 1);
        if (parts.length <= VALUES) {
            throw new IllegalArgumentException("not a stall: " + parts.length + " lines");
        }
        sinceMs = Long.parseLong(parts[0]);
        durationMs = Long.parseLong(parts[1]);
        ended = parts[2].equals("1");
        blocked = parts[3];
        reason = parts[4];
        text = parts[VALUES];
    }

    /**
     * Parses what {@link #toLines} returns.
     *
     * @throws IllegalArgumentException if it is something else
     */
    public static Stall parse(String lines) {
        return new Stall(lines);
    }

    /** The stall as lines of text, to store it. */
    public String toLines() {
        return lines;
    }

    /** When it started, ms since 1970 by the device's clock. */
    public long sinceMs() {
        return sinceMs;
    }

    /** How long it took, or has taken so far, ms. */
    public long durationMs() {
        return durationMs;
    }

    /** Whether it ended. */
    public boolean isEnded() {
        return ended;
    }

    /** {@code Main was blocked for 5.2 s}. */
    public String blocked() {
        return blocked;
    }

    /** {@code PriceStore.priceOf waits for a lock held by SyncWorker}. */
    public String reason() {
        return reason;
    }

    /** The answer as lines of text: the cause, where, the lock's owner, what to do. */
    public String text() {
        return text;
    }

    /** {@link #blocked} and {@link #reason} in a sentence. */
    @Override
    public String toString() {
        return blocked + ": " + reason;
    }
}
