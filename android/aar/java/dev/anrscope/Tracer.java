package dev.anrscope;

/** What can be started and stopped by itself; each is a flag of {@link Config}, too. */
public enum Tracer {
    /** Frames. */
    FPS("fps"),
    /** Slow messages. */
    SLOW("slow"),
    /** The timers of LAG and ANR. */
    ANR("anr"),
    /** Reports of ANRs that SIGQUIT told. */
    SIGNAL_ANR("signal_anr"),
    /** Starts and pages. */
    STARTUP("startup"),
    /** Idle handlers. */
    IDLE("idle"),
    /** Touch events that wait. */
    TOUCH("touch"),
    /** Main's priority and timer slack. */
    TUNING("tuning"),
    /** The last messages, in reports. */
    HISTORY("history"),
    /** Count and length of messages. */
    DENSITY("density"),
    /** The window that shows frames a second. */
    OVERLAY("overlay");

    final String key;

    Tracer(String key) {
        this.key = key;
    }
}
