package dev.anrscope;

/** What is known about a recording without reading all of it. */
public final class RecordingInfo {
    private final int pid;
    private final String process;
    private final long startMs;
    private final boolean anr;
    private final String reason;
    private final int attempt;

    RecordingInfo(int pid, String process, long startMs, boolean anr, String reason, int attempt) {
        this.pid = pid;
        this.process = process;
        this.startMs = startMs;
        this.anr = anr;
        this.reason = reason;
        this.attempt = attempt;
    }

    /** The pid of the process that wrote it. */
    public int pid() {
        return pid;
    }

    /** The process's name: the package, or {@code package:name}. */
    public String process() {
        return process;
    }

    /** When it began, ms since 1970 by the device's clock. */
    public long startMs() {
        return startMs;
    }

    /** Whether it contains an ANR. */
    public boolean hasAnr() {
        return anr;
    }

    /**
     * How the process ended, in the words of ApplicationExitInfo, for instance {@code anr} or {@code crash_native};
     * empty if unknown (before API 30, or if the system no longer has it).
     */
    public String reason() {
        return reason;
    }

    /** Number of this upload attempt, starting at 1. */
    public int attempt() {
        return attempt;
    }
}
