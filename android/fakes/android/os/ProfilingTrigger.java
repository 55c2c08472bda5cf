package android.os;

/** API 36. */
public final class ProfilingTrigger {
    public static final int TRIGGER_TYPE_NONE = 0;
    public static final int TRIGGER_TYPE_ANR = 2;

    private final int type;

    private ProfilingTrigger(int type) {
        this.type = type;
    }

    public int getTriggerType() {
        return type;
    }

    public static final class Builder {
        private final int type;

        public Builder(int type) {
            this.type = type;
        }

        public ProfilingTrigger build() {
            return new ProfilingTrigger(type);
        }
    }
}
