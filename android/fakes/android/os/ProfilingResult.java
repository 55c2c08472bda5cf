package android.os;

/** API 35. */
public final class ProfilingResult {
    public static final int ERROR_NONE = 0;
    public static final int ERROR_FAILED_RATE_LIMIT_SYSTEM = 1;

    private final int error;
    private final String path;
    private final int trigger;

    public ProfilingResult(int error, String path, int trigger) {
        this.error = error;
        this.path = path;
        this.trigger = trigger;
    }

    public int getErrorCode() {
        return error;
    }

    public String getResultFilePath() {
        return path;
    }

    /** API 36. */
    public int getTriggerType() {
        return trigger;
    }
}
