package dev.anrscope;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import sun.misc.Unsafe;

/**
 * What instrumented classes call. All of it is static, and all of it does nothing if the recorder's
 * library cannot be loaded or the property {@code anrscope.off} is {@code true}.
 *
 * <p>The class must be initialised on the thread that is to be the recorded main thread: the first call
 * does it. It is the program's first class that is instrumented, so on Android it is the main thread and on
 * a JVM the thread that runs {@code main}. What that thread records while the class is being initialised (a class
 * loader may be instrumented) is left out, begins and ends alike.
 *
 * <h2>Short calls</h2>
 * An exit whose own enter is the last word, and no older than a limit, takes that word back instead of writing one ({@code fold.rs}). Words that the
 * native writer has published are not taken back: it gives the position, and that is the {@link #floor}.
 *
 * <h2>The two ways of a method's event</h2>
 * In coarse mode {@link #i} and {@link #o} write the word themselves, into the block that the native writer of the
 * thread has open. Where the next one goes is kept here, and nowhere else; the word is there once it is stored, because
 * a 0 was stored behind it before ({@code block.rs}). They turn to the native writer when the thread's door is closed
 * ({@code door.rs}), which it is after anything that was recorded natively, and when the block is full; it takes the
 * pen, writes the event, and gives back where to go on. In precise mode, and where {@code sun.misc.Unsafe} cannot be used,
 * they always do.
 *
 * <p>Nothing in here calls code that could be instrumented, so no event comes in the middle of another.
 *
 * <p>Virtual threads are left out: they move between the threads that carry them, and one recording of a carrier would
 * mix the calls of many. The recording says so.
 *
 * <p>Properties: {@code anrscope.lib} (the library's absolute path; without it {@code libanrscope.so} is
 * looked for where the system looks), {@code anrscope.dir} (folder of the recording, default the working
 * folder, on Android none until {@link #destination}), {@code anrscope.threads} ({@code main}: the recorded main thread
 * alone), {@code anrscope.resolution} ({@code 1ms}, the default, or {@code 100us}: time has this grain, and a call that begins and
 * ends in one grain is left out; {@code exact}: every call is recorded with the clock's own time), {@code anrscope.clock}
 * ({@code precise}: the clock's own time, and calls of less than 20 us are left out; {@code coarse}: the default; with {@code
 * exact} every call with time of a grain of 1 ms), {@code
 * anrscope.mapId} (identity of the method map; else that of the class {@code dev.anrscope.MapId}), {@code
 * anrscope.name} (the process's name in the recording), {@code anrscope.mainWords} and {@code
 * anrscope.poolWords} (sizes of the rings in words of 8 bytes), {@code anrscope.max_overhead} (percent of the
 * threads' time that recording may take, 3 by default: beyond it the methods that are called most are switched off; 0: none ever is),
 * {@code anrscope.unsafe}
 * ({@code true}: the JVM was told to let sun.misc.Unsafe pass without a word, see {@link #unsafe}), {@code
 * anrscope.trace_text} ({@code true}: thread dumps are copied into the recording).
 */
public final class MethodBeat {
    /** Bytes of a block, less one; blocks start at multiples of their length. */
    private static final int IN_BLOCK = 8191;

    /** A block is written to by Java for less than 2^this ns. */
    private static final int GAP_BITS = 42;

    /** How many method ids there are: 1 to this. */
    private static final int LAST = 0xFEFFF;

    /** Where the time word's memory has the limits of calls that are left out, ns. */
    private static final int FOLD_MAIN = 16;

    private static final int FOLD_OTHERS = 24;

    /** The switch of a method that was switched off a moment ago. */
    private static final int CLOSING = 2;

    /** Calls until the first one that is timed. */
    private static final int FIRST = 1000;

    /**
     * What the other threads have: the address of their native writer, 0 without a place in the recording; that of its
     * door; what main has in {@link #behind}, {@link #floor} and {@link #left}; and their {@link #TID}.
     */
    private static final ThreadLocal<long[]> WRITER = new ThreadLocal<long[]>();

    private static final int BEHIND = 2;

    private static final int FLOOR = 3;

    private static final int LEFT = 4;

    private static final int OWNER = 5;

    /** What {@link #WRITER} has for a thread that is not recorded. */
    private static final long[] NOWHERE = new long[6];

    /**
     * The same by the number that a thread has and no other ever had: a look that takes a third of the thread-local's time. Two
     * threads whose numbers have the lower bits in common take the place from each other, and pay the thread-local's.
     */
    private static final long[][] PLACES = new long[1024][];

    private static final Thread MAIN = Thread.currentThread();

    /** The address of main's native writer; 0 if nothing is recorded. */
    private static final long MAIN_WRITER = load();

    /** Constant from here on, so that a compiler leaves nothing of the calls where it is false. */
    private static final boolean ON = MAIN_WRITER != 0;

    /** The address of main's door. */
    private static final long DOOR = ON ? address(3) : 0;

    /** The time word's address. */
    private static final long TIME = ON ? address(0) : 0;

    /** The switches' address: a byte a method, not 0 if it is off or no method. */
    private static final long OFF = ON ? address(1) : 0;

    /** Null where events go through the native writer. */
    private static final Unsafe U = ON ? unsafe() : null;

    /** Where a thread has its number; 0 where that is not known. */
    private static final long TID = U == null ? 0 : tid();

    /** The address behind main's next word, where a 0 goes first; 0 where events go through the native writer. */
    private static long behind;

    /** What {@link #behind} was when the native writer gave it: a word in front of it is not taken back. */
    private static long floor;

    /** Calls of main until the next one that is timed. */
    private static int left = FIRST;

    /** The class of virtual threads; null where there are none. */
    private static final Class<?> VIRTUAL = virtual();

    private static volatile boolean virtualTold;

    private MethodBeat() {}

    /** A method begins. */
    public static void i(int id) {
        if (ON) {
            if (U != null && (id >>> 20 != 0 || U.getByte(OFF + id) != 0)) {
                return;
            }
            begin(id);
        }
    }

    /** A method ends, by whatever way. */
    public static void o(int id) {
        if (ON) {
            if (U != null) {
                int off = id >>> 20 != 0 ? 1 : U.getByte(OFF + id);
                if (off != 0) {
                    if (off == CLOSING) {
                        close(id);
                    }
                    return;
                }
            }
            end(id);
        }
    }

    /** Not for inlining ({@code anrscope jvm} says so to HotSpot): compiling it into every traced method takes the processor longer than the calls do. */
    private static void begin(int id) {
        if (Thread.currentThread() != MAIN) {
            enterOther(id);
            return;
        }
        long at = behind;
        if (U != null && (at & IN_BLOCK) != 0) {
            long since = U.getLong(DOOR);
            if (since >= 0) {
                U.putLong(at, 0);
                U.putLong(at - 8, Long.MIN_VALUE | (long) id << 43 | since);
                behind = at + 8;
                return;
            }
        }
        behind = floor = enter(MAIN_WRITER, id, at);
    }

    /** As {@link #begin}. */
    private static void end(int id) {
        if (Thread.currentThread() != MAIN) {
            exitOther(id);
            return;
        }
        if (--left < 0) {
            timed(id);
            return;
        }
        long at = behind;
        if (U != null) {
            long since = U.getLong(DOOR);
            if (since >= 0) {
                if (at > floor) {
                    // Of the very call that ends: nothing else is less than any limit.
                    long length = (Long.MIN_VALUE | (long) id << 43 | since) - U.getLong(at - 16);
                    if (length >= 0 && length <= U.getLong(TIME + FOLD_MAIN)) {
                        U.putLong(at - 16, 0);
                        behind = at - 8;
                        return;
                    }
                }
                if ((at & IN_BLOCK) != 0) {
                    U.putLong(at, 0);
                    U.putLong(at - 8, (long) id << 43 | since);
                    behind = at + 8;
                    return;
                }
            }
        }
        behind = floor = exit(MAIN_WRITER, id, at);
    }

    /** A method begins on another thread than main. */
    private static void enterOther(int id) {
        long[] place = place();
        if (place[0] == 0) {
            return;
        }
        long at = place[BEHIND];
        if (U != null && (at & IN_BLOCK) != 0) {
            long since = U.getLong(TIME) - U.getLong(place[1] + 8);
            if (since >>> GAP_BITS == 0) {
                U.putLong(at, 0);
                U.putLong(at - 8, Long.MIN_VALUE | (long) id << 43 | since);
                place[BEHIND] = at + 8;
                return;
            }
        }
        place[BEHIND] = place[FLOOR] = enter(place[0], id, at);
    }

    /** A method ends on another thread than main. */
    private static void exitOther(int id) {
        long[] place = place();
        if (place[0] == 0) {
            return;
        }
        if (--place[LEFT] < 0) {
            timed(id);
            return;
        }
        long at = place[BEHIND];
        if (U != null) {
            long since = U.getLong(TIME) - U.getLong(place[1] + 8);
            if (since >>> GAP_BITS == 0) {
                if (at > place[FLOOR]) {
                    long length = (Long.MIN_VALUE | (long) id << 43 | since) - U.getLong(at - 16);
                    if (length >= 0 && length <= U.getLong(TIME + FOLD_OTHERS)) {
                        U.putLong(at - 16, 0);
                        place[BEHIND] = at - 8;
                        return;
                    }
                }
                if ((at & IN_BLOCK) != 0) {
                    U.putLong(at, 0);
                    U.putLong(at - 8, (long) id << 43 | since);
                    place[BEHIND] = at + 8;
                    return;
                }
            }
        }
        place[BEHIND] = place[FLOOR] = exit(place[0], id, at);
    }

    /** A method ends that was switched off a moment ago. If its enter is the last word, the call ends here; else nobody knows. */
    private static void close(int id) {
        long enter = Long.MIN_VALUE | (long) id << 43;
        if (Thread.currentThread() == MAIN) {
            long at = behind;
            if (at > floor && U.getLong(at - 16) >>> 43 == enter >>> 43) {
                behind = floor = exit(MAIN_WRITER, id, at);
            }
            return;
        }
        long[] place = place();
        long at = place[BEHIND];
        if (at > place[FLOOR] && U.getLong(at - 16) >>> 43 == enter >>> 43) {
            place[BEHIND] = place[FLOOR] = exit(place[0], id, at);
        }
    }

    /** As {@link #o}, with a look at what it takes and a word of which method it was: one call in thousands. */
    private static void timed(int id) {
        boolean main = Thread.currentThread() == MAIN;
        long[] place = main ? null : place();
        if (main) {
            left = Integer.MAX_VALUE;
        } else {
            place[LEFT] = Integer.MAX_VALUE;
        }
        // What reading the clock takes is measured beside it.
        long before = System.nanoTime();
        long begin = System.nanoTime();
        o(id);
        long end = System.nanoTime();
        int next = sampled(main ? MAIN_WRITER : place[0], id, end - begin - (begin - before));
        if (main) {
            left = next;
        } else {
            place[LEFT] = next;
        }
    }

    /** What a thread other than main has. */
    private static long[] place() {
        Thread thread = Thread.currentThread();
        if (TID != 0) {
            long tid = U.getLong(thread, TID);
            long[] place = PLACES[(int) tid & PLACES.length - 1];
            if (place != null && place[OWNER] == tid) {
                return place;
            }
            return find(thread, tid);
        }
        return find(thread, -1);
    }

    /** The same by way of the thread-local; a thread that is seen for the first time joins. */
    private static long[] find(Thread thread, long tid) {
        if (VIRTUAL != null && VIRTUAL.isInstance(thread)) {
            tellVirtual();
            return NOWHERE;
        }
        long[] place = WRITER.get();
        if (place == null) {
            long writer = join(thread.getName());
            place = new long[] {writer, writer == 0 || U == null ? 0 : U.getLong(writer), 0, 0, FIRST, tid};
            WRITER.set(place);
        }
        if (TID != 0) {
            PLACES[(int) tid & PLACES.length - 1] = place;
        }
        return place;
    }

    /** An activity's window gains or loses focus: once for each time, whatever the activity overrides. */
    public static void at(android.app.Activity activity, boolean hasFocus) {
        if (ON) {
            focus(
                    activity == null ? null : ((Object) activity).getClass().getName(),
                    System.identityHashCode(activity),
                    hasFocus);
        }
    }

    /**
     * A wait begins: 1 entering a monitor, 2 Object.wait, 3 park, 4 sleep, 5 join, 6 a blocking call.
     *
     * @param on what is waited on or for; may be null
     */
    public static void wb(int kind, Object on) {
        if (ON && known()) {
            waitBegin(kind, System.identityHashCode(on), on == null ? 0 : className(on.getClass()));
        }
    }

    /** A wait ends. */
    public static void we(int kind, Object on) {
        if (ON && known()) {
            waitEnd(kind, System.identityHashCode(on));
        }
    }

    /** The calling thread has left a monitor. */
    public static void wr(Object on) {
        if (ON && known()) {
            released(System.identityHashCode(on));
        }
    }

    /**
     * Asks for a thread dump of this process, which is written where it always is, and returns before it is. The
     * recording says that it was asked for here.
     *
     * @return whether it was asked for
     */
    public static boolean dump() {
        return ON && askForDump();
    }

    /**
     * Says in which folder the recording's file is to be, if it has none: on Android there is no folder before there is a
     * Context. What was recorded before is in memory and moves there; a thread of ours does that.
     */
    public static void destination(String folder) {
        if (ON && folder != null) {
            setDestination(folder);
        }
    }

    /** Whether the library is there and recording was started. */
    public static boolean isRecording() {
        return ON;
    }

    /** Records nothing from here on, as in the background. What is open stays open. */
    public static void pause() {
        if (ON) {
            control(0);
        }
    }

    /** Goes on after {@link #pause}, or changes the clock while recording. */
    public static void resume(boolean coarse) {
        if (ON) {
            control(coarse ? 2 : 1);
        }
    }

    /** Switches the method with this id off, or on again. */
    public static void method(int id, boolean on) {
        if (ON) {
            setMethod(id, on);
        }
    }

    /** Whether the calling thread is one that is recorded; it joins if it is new. */
    private static boolean known() {
        return Thread.currentThread() == MAIN || place()[0] != 0;
    }

    private static void tellVirtual() {
        if (!virtualTold) {
            virtualTold = true;
            // Others may have been as fast: then it is told twice.
            notice("virtual threads are left out of this recording");
        }
    }

    private static Class<?> virtual() {
        // Not looked for where there are none: a class that is not found is an exception with a stack, at the app's start.
        if (major() < 19) {
            return null;
        }
        try {
            return Class.forName("java.lang.BaseVirtualThread", false, null);
        } catch (Throwable none) {
            return null;
        }
    }

    /** A class that has an id for its name. Does not keep the class. */
    private static final class Name extends WeakReference<Class<?>> {
        /** Those that are known; see {@link #className}. */
        static final Name[] KNOWN = new Name[1024];

        final int id;

        Name(Class<?> of, int id) {
            super(of);
            this.id = id;
        }
    }

    /** The id of a class's name: without a lock or an allocation once it is known. */
    private static int className(Class<?> of) {
        int at = System.identityHashCode(of) & Name.KNOWN.length - 1;
        Name known = Name.KNOWN[at];
        if (known != null && known.get() == of) {
            return known.id;
        }
        int id = text(of.getName());
        // Final fields: another thread sees the whole of it or nothing.
        Name.KNOWN[at] = new Name(of, id);
        return id;
    }

    /**
     * What writes to an address, if it may be used and does what it should.
     *
     * <p>From Java 24 on the first use prints a warning on the program's stderr, unless the JVM was told not to
     * (--sun-misc-unsafe-memory-access=allow); whoever has told it says so by the property. On 32 bits a long is
     * not loaded at once everywhere. Android has the methods from API 24 on.
     */
    private static Unsafe unsafe() {
        try {
            boolean silent = Boolean.getBoolean("anrscope.unsafe") || major() < 24;
            if (!silent || address(2) != 8) {
                return null;
            }
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            Unsafe unsafe = (Unsafe) field.get(null);
            // Main has recorded nothing yet: its door is closed, and whoever stores there closes it.
            unsafe.putLong(DOOR, unsafe.getLong(DOOR));
            // 0 is no method's id: never on.
            return unsafe.getByte(OFF) == 1 ? unsafe : null;
        } catch (Throwable without) {
            return null;
        }
    }

    private static long tid() {
        try {
            return U.objectFieldOffset(Thread.class.getDeclaredField("tid"));
        } catch (Throwable unknown) {
            return 0;
        }
    }

    /** 8 for 1.8, 17 for 17; 0 on Android, whose specification is 0.9. */
    private static int major() {
        String version = System.getProperty("java.specification.version", "0");
        int point = version.indexOf('.');
        int first = Integer.parseInt(point < 0 ? version : version.substring(0, point));
        return first == 1 && point > 0 ? Integer.parseInt(version.substring(point + 1)) : first;
    }

    private static long load() {
        try {
            if (Boolean.getBoolean("anrscope.off")) {
                return 0;
            }
            String library = System.getProperty("anrscope.lib");
            if (library == null) {
                System.loadLibrary("anrscope");
            } else {
                System.load(library);
            }
            return start(
                    System.getProperty("anrscope.dir", android() ? null : "."),
                    processName(),
                    mapId(),
                    resolution(),
                    Long.getLong("anrscope.mainWords", 0L).longValue(),
                    Long.getLong("anrscope.poolWords", 0L).longValue(),
                    System.getProperty("anrscope.max_overhead"),
                    Boolean.getBoolean("anrscope.trace_text"),
                    "main".equals(System.getProperty("anrscope.threads")));
        } catch (Throwable untraced) {
            // The program continues without a recording.
            logMissing(untraced);
            return 0;
        }
    }

    /** Says once why nothing is recorded: on a JVM to stderr; on Android {@code Anrscope} logs it. */
    private static void logMissing(Throwable why) {
        try {
            if (!android()) {
                System.err.println("anrscope: nothing is recorded: " + why);
            }
        } catch (Throwable silent) {
            // Without stderr.
        }
    }

    /** What was asked for: a resolution, or by its older name a clock. */
    private static String resolution() {
        String clock = System.getProperty("anrscope.clock");
        String resolution = System.getProperty("anrscope.resolution");
        return clock == null ? resolution : resolution == null ? clock : clock + " " + resolution;
    }

    private static boolean android() {
        return "Dalvik".equals(System.getProperty("java.vm.name"));
    }

    /** The main class or jar, as the launcher tells it, unless somebody knows better; null on Android, where the kernel knows. */
    private static String processName() {
        String told = System.getProperty("anrscope.name");
        if (told != null) {
            return told;
        }
        if (android()) {
            return null;
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
            // It is in the app, as this class is on Android; on a JVM this class is in front of the app.
            ClassLoader app = MethodBeat.class.getClassLoader();
            if (app == null) {
                app = ClassLoader.getSystemClassLoader();
            }
            Class<?> map = Class.forName("dev.anrscope.MapId", true, app);
            return (String) map.getField("ID").get(null);
        } catch (Throwable unknown) {
            // Instrumented without a map class: readers then say that they cannot compare.
            return null;
        }
    }

    private static native long start(
            String folder,
            String process,
            String mapId,
            String resolution,
            long mainWords,
            long poolWords,
            String maxOverhead,
            boolean traceText,
            boolean mainOnly);

    private static native void setDestination(String folder);

    private static native long join(String name);

    private static native long address(int what);

    private static native int text(String text);

    private static native void notice(String text);

    private static native void control(int what);

    private static native void setMethod(int id, boolean on);

    private static native int sampled(long writer, int id, long nanos);

    private static native long enter(long writer, int id, long behind);

    private static native long exit(long writer, int id, long behind);

    private static native void waitBegin(int kind, int lock, int className);

    private static native void focus(String activityClass, int activity, boolean hasFocus);

    private static native void waitEnd(int kind, int lock);

    private static native void released(int lock);

    private static native boolean askForDump();
}
