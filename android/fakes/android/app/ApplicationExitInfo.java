package android.app;

import java.io.ByteArrayInputStream;
import java.io.InputStream;

/** API 30. */
public final class ApplicationExitInfo {
    public int pid;
    public String processName;
    public int reason;
    public long timestamp;
    public String description;
    public byte[] trace;
    public byte[] summary;
    /** API 37. */
    public AnrInfo anr;

    /** API 37: the kind of ANR. Getters by a description of AOSP's class at {@code android-17.0.0_r1}. */
    public static final class AnrInfo {
        private final int type;
        private final long timeout;

        public AnrInfo(int type, long timeout) {
            this.type = type;
            this.timeout = timeout;
        }

        public int getAnrId() {
            return 7;
        }

        public int getAnrType() {
            return type;
        }

        public boolean isUserPerceptible() {
            return true;
        }

        public long getTimeoutMillis() {
            return timeout;
        }
    }

    public int getPid() {
        return pid;
    }

    public String getProcessName() {
        return processName;
    }

    public int getReason() {
        return reason;
    }

    public int getStatus() {
        return 0;
    }

    public int getImportance() {
        return 100;
    }

    public long getPss() {
        return 4_000;
    }

    public long getRss() {
        return 9_000;
    }

    public long getTimestamp() {
        return timestamp;
    }

    public String getDescription() {
        return description;
    }

    /** Null unless the process set one (AOSP {@code ApplicationExitInfo.java}, API 30). */
    public byte[] getProcessStateSummary() {
        return summary;
    }

    public InputStream getTraceInputStream() {
        return trace == null ? null : new ByteArrayInputStream(trace);
    }

    public AnrInfo getAnrInfo() {
        return anr;
    }
}
