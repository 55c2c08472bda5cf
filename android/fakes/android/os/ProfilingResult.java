package android.os;

/** API 35 (AOSP {@code packages/modules/Profiling/framework/java/android/os/ProfilingResult.java}, 35 and 36). */
public final class ProfilingResult {
    public static final int ERROR_NONE = 0;
    public static final int ERROR_FAILED_RATE_LIMIT_SYSTEM = 1;
    public static final int ERROR_FAILED_NO_DISK_SPACE = 6;
    public static final int ERROR_UNKNOWN = 8;

    private final int error;
    private final String path;
    private final String tag;
    private final int trigger;

    public ProfilingResult(int error, String path, int trigger) {
        this(error, path, null, trigger);
    }

    public ProfilingResult(int error, String path, String tag, int trigger) {
        this.error = error;
        this.path = path;
        this.tag = tag;
        this.trigger = trigger;
    }

    public int getErrorCode() {
        return error;
    }

    public String getResultFilePath() {
        return path;
    }

    public String getTag() {
        return tag;
    }

    /** API 36. */
    public int getTriggerType() {
        return trigger;
    }
}
