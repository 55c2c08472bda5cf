package dev.anrscope;

/** What the library does for {@link Anrscope} and {@link Install}. Only called once {@link MethodBeat} has loaded it. */
final class Natives {
    private Natives() {}

    /** Sets an option; false if there is none of this key, or the value is none. */
    static native boolean set(String key, String value);

    /** The value of a number of the table. */
    static native long number(String key);

    static native String inForce();

    /** Every key and Matrix's name for it, tab between, a pair a line. */
    static native String keys();

    static native void setScene(String scene);

    static native boolean isForeground();

    static native void mark(String name);

    static native void counter(String name, double value);

    /** Whether this app was disarmed: one look at a name, no file is opened. */
    static native boolean isDisarmed(String markFolder);

    /**
     * Whether it may start; with files. Notes that it is starting, and forgets that once it went well; and the app's version in the
     * recording.
     *
     * @param folder where the recordings are
     * @param markFolder where the mark of a disarmed app is
     * @param version of the app: its number, 0 if it is not known
     * @param versionName its name; null if it has none, or that is not known
     * @param debuggable whether it is a debuggable build, which is never disarmed
     */
    static native boolean admit(String folder, String markFolder, long version, String versionName, boolean debuggable);

    /** Whether an earlier start was told to record nothing (option {@code recording}): one look at a name. */
    static native boolean isOff(String markFolder);

    /** Keeps what the next start is to find: whether anything is recorded, and the rings' sizes. With files. */
    static native void keep(String markFolder);

    /** The recording says this of itself. */
    static native void notice(String text);

    /** Nothing is recorded from here on, for good. */
    static native void disarm();

    /** Whether recording is paused. */
    static native boolean isPaused();

    /**
     * Waits until everything that was recorded is in the file, this long at most.
     *
     * @return the file; null if there is none
     */
    static native String flush(long ms);

    /**
     * The recordings of processes that are gone, a line each: file's name, pid, when it began (ms since 1970), 1 with an ANR,
     * what became of the process, and its name; tabs between.
     */
    static native String finished(String folder);

    /** Removes old recordings. */
    static native void retain(String folder);

    /** The monitors are on; with what the system is. */
    static native void armed(int apiLevel);

    /** What the system says of a process that is gone; see {@link ExitInfo}. */
    static native boolean exited(
            String folder, int pid, String process, long timeMs, int reason, String lines, byte[] trace);

    /** The platform left a profile of an ANR; see {@link AnrProfiles}. */
    static native boolean profiled(String folder, String path);
}
