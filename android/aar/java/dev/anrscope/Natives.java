package dev.anrscope;

/**
 * Native methods for {@link Anrscope} and {@link Install}. Only called once {@link MethodBeat} has loaded the library.
 */
final class Natives {
    private Natives() {}

    /** Sets an option; returns false if the key is unknown or the value invalid. */
    static native boolean set(String key, String value);

    /** The value of a numeric option. */
    static native long number(String key);

    /** The value of a text option, empty by default. */
    static native String text(String key);

    static native String inForce();

    /** Every key and Matrix's name for it, separated by a tab, one pair per line. */
    static native String keys();

    static native void setScene(String scene);

    static native boolean isForeground();

    static native void mark(String name);

    static native void counter(String name, double value);

    /** Watches the calling thread's heartbeat; returns its tid, 0 if it is not watched. */
    static native int watch(long limitMs);

    /** The calling thread's heartbeat. */
    static native void beat();

    /** Stops watching the thread with this tid. */
    static native void unwatch(int tid);

    /** Whether the crash-loop guard is disarmed: checks one file name, opens no file. */
    static native boolean isDisarmed(String markDirectory);

    /**
     * Whether this start is admitted; accesses files. Marks the start as in progress, clears the mark once it went
     * well, and adds the app's version to the recording.
     *
     * @param directory directory of the recordings
     * @param markDirectory directory of the crash-loop guard's marker
     * @param version the app's version code, 0 if unknown
     * @param versionName the app's version name; null if unknown
     * @param debuggable whether the build is debuggable; such a build is never disarmed
     */
    static native boolean admit(String directory, String markDirectory, long version, String versionName, boolean debuggable);

    /**
     * Whether an earlier process stored that nothing is to be recorded (option {@code recording}): checks one file
     * name.
     */
    static native boolean isOff(String markDirectory);

    /** Stores what the next start needs: whether to record, and the rings' sizes. Accesses files. */
    static native void keep(String markDirectory);

    /** Records a diagnostic notice. */
    static native void notice(String text);

    /** Stops recording for good. */
    static native void disarm();

    /** Whether recording is paused. */
    static native boolean isPaused();

    /**
     * Waits until everything recorded is in the file, up to the given time.
     *
     * @return the file; null if it does not exist
     */
    static native String flush(long ms);

    /**
     * The recordings of ended processes, without stack bytes, one per line: file name, pid, start (ms since 1970), 1 with an ANR, how the
     * process ended, and its name; separated by tabs.
     */
    static native String finished(String directory);

    /** Removes old recordings. */
    static native void retain(String directory);

    /** The monitors are on; passes properties of the system. */
    static native void armed(int apiLevel);

    /** The id of this process's recording; null if nothing is recorded. */
    static native String recordingId();

    /** What the system knows about an ended process; see {@link ExitInfo}. */
    static native boolean exited(
            String directory, int pid, String process, long timeMs, int reason, String lines, byte[] trace);

    /**
     * The platform stored a profile or a system trace, failed to, or is asked to; see {@link PlatformProfiles}.
     *
     * @param trigger the trigger's name
     * @param path the file; null without one
     * @param tag the request's or the system's; may be null
     * @param error {@code ProfilingResult.getErrorCode()}, -1 for a request that has no result yet
     */
    static native boolean profiled(String directory, String trigger, String path, String tag, int error);
}
