package dev.anrscope;

/**
 * What instrumented classes call. All of it is static, and all of it does nothing if the recorder's
 * library cannot be loaded or the property {@code anrscope.off} is {@code true}.
 *
 * <p>The class must be initialised on the thread that is to be the recorded main thread: the first call
 * does it. It is the program's first class that is instrumented, so on Android it is the main thread and on
 * a JVM the thread that runs {@code main}.
 *
 * <p>Properties: {@code anrscope.lib} (the library's absolute path; without it {@code libanrscope.so} is
 * looked for where the system looks), {@code anrscope.dir} (folder of the recording, default the working
 * folder), {@code anrscope.clock} ({@code precise}, the default, or {@code coarse}), {@code
 * anrscope.mapId} (identity of the method map; else that of the class {@code dev.anrscope.MapId}), {@code
 * anrscope.name} (the process's name in the recording), {@code anrscope.mainWords} and {@code
 * anrscope.poolWords} (sizes of the rings in words of 8 bytes).
 */
public final class MethodBeat {
    /** Constant from here on, so that a compiler leaves nothing of the calls where it is false. */
    private static final boolean ON = load();

    private MethodBeat() {}

    /** A method begins. */
    public static void i(int id) {
        if (ON && enter(id) != 0) {
            nameThread(Thread.currentThread().getName());
        }
    }

    /** A method ends, by whatever way. */
    public static void o(int id) {
        if (ON) {
            exit(id);
        }
    }

    /**
     * A wait begins: 1 entering a monitor, 2 Object.wait, 3 park, 4 sleep, 5 join, 6 a blocking call.
     *
     * @param on what is waited on or for; may be null
     */
    public static void wb(int kind, Object on) {
        if (ON) {
            waitBegin(kind, System.identityHashCode(on), on == null ? null : on.getClass().getName());
        }
    }

    /** A wait ends. */
    public static void we(int kind, Object on) {
        if (ON) {
            waitEnd(kind, System.identityHashCode(on));
        }
    }

    /** The calling thread has left a monitor. */
    public static void wr(Object on) {
        if (ON) {
            released(System.identityHashCode(on));
        }
    }

    private static boolean load() {
        try {
            if (Boolean.getBoolean("anrscope.off")) {
                return false;
            }
            String library = System.getProperty("anrscope.lib");
            if (library == null) {
                System.loadLibrary("anrscope");
            } else {
                System.load(library);
            }
            return start(
                    System.getProperty("anrscope.dir", "."),
                    processName(),
                    mapId(),
                    "coarse".equals(System.getProperty("anrscope.clock")),
                    Long.getLong("anrscope.mainWords", 0L).longValue(),
                    Long.getLong("anrscope.poolWords", 0L).longValue());
        } catch (Throwable untraced) {
            // The program is worth more than its trace: it runs on without.
            return false;
        }
    }

    /** The main class or jar, as the launcher tells it, unless somebody knows better. */
    private static String processName() {
        String told = System.getProperty("anrscope.name");
        if (told != null) {
            return told;
        }
        String command = System.getProperty("sun.java.command", "java").trim();
        int end = command.indexOf(' ');
        return end < 0 ? command : command.substring(0, end);
    }

    private static String mapId() {
        String told = System.getProperty("anrscope.mapId");
        if (told != null) {
            return told;
        }
        try {
            Class<?> map = Class.forName("dev.anrscope.MapId", true, ClassLoader.getSystemClassLoader());
            return (String) map.getField("ID").get(null);
        } catch (Throwable unknown) {
            // Instrumented without a map class: readers then say that they cannot compare.
            return null;
        }
    }

    private static native boolean start(
            String folder, String process, String mapId, boolean coarse, long mainWords, long poolWords);

    private static native int enter(int id);

    private static native void exit(int id);

    private static native void nameThread(String name);

    private static native void waitBegin(int kind, int lock, String className);

    private static native void waitEnd(int kind, int lock);

    private static native void released(int lock);
}
