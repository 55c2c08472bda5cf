package android.app;

/** API 37 (AOSP {@code core/java/android/app/AnrWarningResult.java}; the reference of API 37 has the same getters). */
public final class AnrWarningResult {
    private final int id;
    private final int type;
    private final long consumed;
    private final long timeout;
    private final String description;

    public AnrWarningResult(int id, int type, long consumed, long timeout, String description) {
        this.id = id;
        this.type = type;
        this.consumed = consumed;
        this.timeout = timeout;
        this.description = description;
    }

    public int getAnrId() {
        return id;
    }

    public int getAnrType() {
        return type;
    }

    public long getConsumedMillis() {
        return consumed;
    }

    public long getTimeoutMillis() {
        return timeout;
    }

    public String getDescription() {
        return description;
    }
}
