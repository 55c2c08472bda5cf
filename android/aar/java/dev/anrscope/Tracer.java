package dev.anrscope;

/** Tracers that can be started and stopped separately; each is also a flag of {@link Config}. */
public enum Tracer {
    /** Frames. */
    FPS("fps"),
    /** Slow messages. */
    SLOW("slow"),
    /** The timers of LAG and ANR. */
    ANR("anr"),
    /** Reports of ANRs that SIGQUIT revealed. */
    SIGNAL_ANR("signal_anr"),
    /** App starts and page opens. */
    STARTUP("startup"),
    /** Idle handlers. */
    IDLE("idle"),
    /** Late touch events. */
    TOUCH("touch"),
    /** Main's priority and timer slack. */
    TUNING("tuning"),
    /** The last messages, in reports. */
    HISTORY("history"),
    /** Count and duration of messages. */
    DENSITY("density"),
    /** The overlay with the frame rate. */
    OVERLAY("overlay");

    final String key;

    Tracer(String key) {
        this.key = key;
    }
}
