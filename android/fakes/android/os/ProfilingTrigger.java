package android.os;

/**
 * API 36. Numbers and levels: the SDK's API differences of 36.1 and 37, and AOSP {@code
 * packages/modules/Profiling/framework/java/android/os/ProfilingTrigger.java} at 36.1 for 3 to 6; those of 37 (7 to 11) by
 * a description of that file at {@code android-17.0.0_r1}, not by the file itself.
 *
 * <p>On a device the constants of a later level do not exist. Here the builder refuses them.
 */
public final class ProfilingTrigger {
    public static final int TRIGGER_TYPE_NONE = 0;
    public static final int TRIGGER_TYPE_APP_FULLY_DRAWN = 1;
    public static final int TRIGGER_TYPE_ANR = 2;
    /** API 36.1, like the next three. */
    public static final int TRIGGER_TYPE_APP_REQUEST_RUNNING_TRACE = 3;
    public static final int TRIGGER_TYPE_KILL_FORCE_STOP = 4;
    public static final int TRIGGER_TYPE_KILL_RECENTS = 5;
    public static final int TRIGGER_TYPE_KILL_TASK_MANAGER = 6;
    /** API 37, like the next four. */
    public static final int TRIGGER_TYPE_OOM = 7;
    public static final int TRIGGER_TYPE_ANOMALY = 8;
    public static final int TRIGGER_TYPE_KILL_EXCESSIVE_CPU_USAGE = 9;
    public static final int TRIGGER_TYPE_COLD_START = 10;
    public static final int TRIGGER_TYPE_APP_COMPAT = 11;

    private final int type;

    private ProfilingTrigger(int type) {
        this.type = type;
    }

    public int getTriggerType() {
        return type;
    }

    /** The greatest number at this level; the property {@code android.host.sdk.minor} sets the minor one. */
    private static int greatest() {
        boolean minor = Build.VERSION.SDK_INT > 36 || Integer.getInteger("android.host.sdk.minor", 0) > 0;
        return Build.VERSION.SDK_INT >= 37 ? TRIGGER_TYPE_APP_COMPAT : minor ? TRIGGER_TYPE_KILL_TASK_MANAGER : TRIGGER_TYPE_ANR;
    }

    public static final class Builder {
        private final int type;

        public Builder(int type) {
            if (type <= TRIGGER_TYPE_NONE || type > greatest()) {
                throw new IllegalArgumentException("Invalid trigger type.");
            }
            this.type = type;
        }

        public ProfilingTrigger build() {
            return new ProfilingTrigger(type);
        }
    }
}
