package dev.anrscope;

/** What is known of a recording without reading all of it. */
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

    /** The process that wrote it. */
    public int pid() {
        return pid;
    }

    /** Its name: the package, or {@code package:name}. */
    public String process() {
        return process;
    }

    /** When it began, ms since 1970 by the device's clock. */
    public long startMs() {
        return startMs;
    }

    /** Whether there is an ANR in it. */
    public boolean hasAnr() {
        return anr;
    }

    /**
     * What became of the process, in the words of ApplicationExitInfo, {@code anr} or {@code crash_native} for instance; empty where
     * nobody knows (before API 30, or the system has forgotten).
     */
    public String reason() {
        return reason;
    }

    /** Which attempt this is, 1 for the first. */
    public int attempt() {
        return attempt;
    }
}
