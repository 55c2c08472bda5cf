package android.os;

/** API 36. Signatures only. */
public final class ProfilingTrigger {
    public static final int TRIGGER_TYPE_ANR = 2;

    private ProfilingTrigger() {
        throw new UnsupportedOperationException();
    }

    public int getTriggerType() {
        throw new UnsupportedOperationException();
    }

    public static final class Builder {
        public Builder(int triggerType) {
            throw new UnsupportedOperationException();
        }

        public ProfilingTrigger build() {
            throw new UnsupportedOperationException();
        }
    }
}
