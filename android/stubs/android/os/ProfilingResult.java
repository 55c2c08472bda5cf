package android.os;

/** API 35; the trigger's type 36. Signatures only. */
public final class ProfilingResult {
    public static final int ERROR_NONE = 0;

    private ProfilingResult() {
        throw new UnsupportedOperationException();
    }

    public int getErrorCode() {
        throw new UnsupportedOperationException();
    }

    public String getResultFilePath() {
        throw new UnsupportedOperationException();
    }

    public String getTag() {
        throw new UnsupportedOperationException();
    }

    public int getTriggerType() {
        throw new UnsupportedOperationException();
    }
}
