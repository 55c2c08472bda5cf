package dev.anrscope;

import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.AbstractQueuedSynchronizer;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import sun.misc.Unsafe;

/**
 * The class that instrumented code calls. All methods are static. They do nothing if the recorder's library cannot be
 * loaded or the property {@code anrscope.off} is {@code true}.
 *
 * <p>The class must be initialised on the thread to be recorded as main, by the first call. That call comes from the
 * program's first instrumented class, so on Android it is the main thread and on a JVM the thread that runs {@code
 * main}. Events of that thread during the initialisation (a class loader may be instrumented) are not recorded, neither
 * enters nor exits.
 *
 * <h2>Short calls</h2>
 * If a method exits, its own enter is the last word and no older than a limit, the enter is taken back instead of
 * writing an exit. Words that the native writer has published are never taken back: it returns the position {@link
 * #floor}.
 *
 * <h2>Fast path and native writer</h2>
 * With the coarse clock, {@link #i} and {@link #o} write the word themselves, into the block that the thread's native
 * writer has open. This class alone then knows the position of the next word. A word is published by its store, because
 * a 0 was stored behind it before. The native writer takes over if the thread's gate is closed, which it is after
 * an event of the library's own, and if the block is full. It reclaims the write position, writes the event, and grants a
 * new position. Waits and steps are always written by it, but with the position, which it moves on. With the precise clock, and where {@code sun.misc.Unsafe} is not usable, every event goes
 * through the native writer.
 *
 * <p>Nothing in here calls code that could be instrumented, so no event is recorded inside another.
 *
 * <h2>Why nothing in here throws</h2>
 * An inserted call may lose an event, but the app must not see an error that the original cannot throw there. Two errors can
 * come up: the stack overflows, or there is no memory. No other is caught: the JVM may raise the app's own InternalError in here.
 *
 * <ul>
 *   <li>Memory is allocated in the initialisation, for a thread's first event, and for a class's name. Each of these catches
 *       the error. A thread whose state cannot be made stays unrecorded, and is not tried again ({@link #FAILED}).
 *   <li>In class files each call has a handler for both errors, which stores in {@link #lost} what a reader
 *       would miss. A call of {@link #wb} with 0, where a method begins, has none: see {@link #leaveRoom}.
 *   <li>In dex files that do not record all exits, and in class files for them, {@link #i} and {@link #o} have no handler,
 *       because ART inlines no method that has one. There, {@code i} overflows only where the method itself would a few frames
 *       deeper, and before any of its code runs. {@code o} needs no more of the stack than {@code i} has had: both call one
 *       method that is not inlined ({@link #begin}, {@link #end}), and both of these catch what overflows below them. On
 *       HotSpot it may need more, and overflow at a return (docs/architecture.md), so class files for a JVM have handlers.
 * </ul>
 *
 * <p>Virtual threads are not recorded: they move between carrier threads, and the recording of a carrier would mix the
 * calls of many. The recording notes it.
 *
 * <p>Properties: {@code anrscope.lib} (the library's absolute path; empty if the native methods are registered already; by
 * default {@code libanrscope.so} on the system's search path), {@code anrscope.dir} (directory of the recording; by default the working directory, on Android none
 * until {@link #destination}), {@code anrscope.threads} ({@code main}: only the main thread is recorded), {@code
 * anrscope.resolution} ({@code 1ms}, the default, or {@code 100us}: resolution of time; a call that starts and ends
 * within one step is omitted; {@code exact}: every call is recorded with the clock's exact time), {@code
 * anrscope.clock} ({@code precise}: the clock's exact time, and calls of less than 20 us are omitted; {@code coarse}:
 * the default; with {@code exact} every call, with a resolution of 1 ms), {@code anrscope.mapId} (id of the method map;
 * by default that of the class {@code dev.anrscope.MapId}), {@code anrscope.name} (the process's name in the
 * recording), {@code anrscope.mainWords} and {@code anrscope.poolWords} (sizes of the rings in words of 8 bytes),
 * {@code anrscope.max_overhead} (share of the threads' time that recording may take, in percent, 3 by default; above it
 * the most frequently called methods are switched off; 0: never), {@code anrscope.unsafe} ({@code true}: the JVM was
 * started with the option that silences sun.misc.Unsafe's warning, see {@link #unsafe}), {@code anrscope.trace_text}
 * ({@code true}: thread dumps are copied into the recording).
 */
public final class MethodBeat {
    /** Size of a block in bytes, minus one; blocks start at multiples of their size. */
    private static final int IN_BLOCK = 8191;

    /** Java writes to a block for less than 2^this ns. */
    private static final int GAP_BITS = 42;

    /** Offset from the time word to the limit of main's short calls, ns. */
    private static final int FOLD_MAIN = 16;

    private static final int FOLD_OTHERS = 24;

    /** State of a method that has just been switched off. */
    private static final int CLOSING = 2;

    /** Number of calls before the first timed one. */
    private static final int FIRST_TIMED = 1000;

    /**
     * State of each other thread: the address of its native writer, 0 if it has no space in the recording; the address
     * of its gate; its values of {@link #behind}, {@link #floor} and {@link #left}; its {@link #TID}; its number in the
     * recording; and from {@link #WAITING} on what {@link #MAIN_STATE} has of main.
     */
    private static final ThreadLocal<long[]> WRITER;

    private static final int BEHIND = 2;

    private static final int FLOOR = 3;

    private static final int LEFT = 4;

    private static final int OWNER = 5;

    private static final int UID = 6;

    /** Calls of {@link #wb} that may be no wait, without their {@link #we}: a bit each, set if the wait is recorded. */
    private static final int WAITING = 7;

    /** Blocking calls without their {@link #we}: 12 bits each, 0 if all of the wait is recorded; see {@link #callOf}. */
    private static final int CALLS = 8;

    /** The start of the last {@link #SPAN}, and how many blocking calls began since. */
    private static final int SPAN_BEGAN = 9;

    private static final int SPAN_CALLS = 10;

    /** The length of such a state. */
    private static final int STATE_LENGTH = 11;

    /** Of so many ns, the first {@link #MOST_CALLS} blocking calls of a thread have all of their facts. */
    private static final long SPAN = 250_000_000L;

    private static final int MOST_CALLS = 256;

    /** Added to a call's 12 bits: its id in the recording. Methods have lower ones. */
    private static final int CALL_IDS = 0xFE000;

    /** The last lost ends, by their number in {@link #lost}: the id of a method whose exit was lost, or {@link #WAIT_END}. */
    public static final int[] LOST_ENDS;

    /** The part of main's state that another thread has from {@link #WAITING} on; the rest is in fields, which are faster. */
    private static final long[] MAIN_STATE;

    /** State of a thread that is not recorded. */
    private static final long[] UNRECORDED;

    /**
     * Cache of {@link #WRITER} by thread id, which is never reused: a lookup takes a third of the thread-local's time.
     * Two threads whose ids have the same lower bits evict each other and use the thread-local.
     */
    private static final long[][] STATES;

    /** Identities of threads for whose state there was no memory: they stay unrecorded. */
    private static final int[] FAILED;

    /** Known classes; see {@link #className}. */
    private static final Name[] NAMES;

    private static final Thread MAIN = Thread.currentThread();

    /** The address of main's native writer; 0 if nothing is recorded. */
    private static final long MAIN_WRITER;

    static {
        long[] mainState = null;
        long[] unrecorded = null;
        long[][] states = null;
        int[] failed = null;
        Name[] names = null;
        AtomicLongArray parts = null;
        ThreadLocal<long[]> writer = null;
        long main = 0;
        int[] lostEnds = null;
        // Handlers store there even if nothing can be recorded. Where the heap is full, another thread may give some back.
        for (int tries = 0; lostEnds == null && tries < 100; tries++) {
            try {
                lostEnds = new int[16];
            } catch (Throwable full) {
                Thread.yield();
            }
        }
        // An error in here would make each inserted call fail from then on.
        try {
            mainState = new long[STATE_LENGTH];
            unrecorded = new long[STATE_LENGTH];
            states = new long[1024][];
            failed = new int[256];
            names = new Name[1024];
            parts = new AtomicLongArray(1024);
            writer = new ThreadLocal<long[]>();
            main = load();
        } catch (Throwable untraced) {
            main = 0;
        }
        LOST_ENDS = lostEnds;
        MAIN_STATE = mainState;
        UNRECORDED = unrecorded;
        STATES = states;
        FAILED = failed;
        NAMES = names;
        PARTS = parts;
        WRITER = writer;
        MAIN_WRITER = main;
    }

    /** A constant from here on, so that a JIT compiler removes the calls where it is false. */
    private static final boolean ON = MAIN_WRITER != 0;

    /** The address of main's gate. */
    private static final long GATE = ON ? address(3) : 0;

    /** The address of the time word. */
    private static final long TIME = ON ? address(0) : 0;

    /** The address of the switches: one byte per method, non-zero if it is off or does not exist. */
    private static final long OFF = ON ? address(1) : 0;

    /** Null if events go through the native writer. */
    private static final Unsafe U = ON ? unsafe() : null;

    /** Offset of a thread's id; 0 if unknown. */
    private static final long TID = U == null ? 0 : tid();

    /** The address behind main's next word, where a 0 is stored first; 0 if events go through the native writer. */
    private static long behind;

    /** The value of {@link #behind} that the native writer returned last: words before it are not taken back. */
    private static long floor;

    /** Calls of main until the next timed one. */
    private static int left = FIRST_TIMED;

    /** Main's number in the recording. */
    private static final int MAIN_UID = ON ? uid(MAIN_WRITER) : 0;

    /** The address of the table of locks' owners; 0 if it is used through native calls. See {@link #acquired(long, int)}. */
    private static final long OWNERS = U == null ? 0 : address(4);

    /** Kinds of {@link #wb} that a recording does not have: a lock, a condition of a lock, a lock that was not taken, a permit. */
    private static final int LOCK = 7;

    private static final int CONDITION = 8;

    private static final int NOT_LOCKED = 9;

    private static final int PERMIT = 10;

    /** The bits of {@link #wb}'s argument that are the kind; those above are the number of the call. */
    private static final int KIND = 15;

    /** No wait for {@link #wb}: a method begins that takes locks or permits. */
    private static final int TAKES_LOCKS = 0;

    /** The number of calls that a release may be deep. */
    private static final int ROOM = 8;

    /** Kinds that it has. */
    private static final int OBJECT_WAIT = 2;

    private static final int PARK = 3;

    private static final int BLOCKING = 6;

    /** Steps of {@link #c}. */
    private static final int PART_OF = 12;

    private static final int THREAD_STARTED = 15;

    /**
     * What belongs to which lock: identity of a condition, or of a read or write lock, and that of its lock, by the lower
     * bits of the first. Two with the same bits evict each other.
     */
    private static final AtomicLongArray PARTS;

    /**
     * Offsets of the state of the JDK's read-write locks, which their read locks do not show; null if they are unknown. Their order is that of {@link #STATE} and those that follow it. The fields are those of {@code
     * AbstractQueuedSynchronizer} and {@code ReentrantReadWriteLock} in OpenJDK 8 to 25. Not on Android, where they are
     * hidden from apps: there taking such a lock is always recorded as a wait.
     */
    private static final long[] LOCK_FIELDS = lockFields();

    private static final int STATE = 0;

    private static final int HEAD = 1;

    private static final int TAIL = 2;

    private static final int SYNC_OF_READ = 3;

    private static final int SYNC_OF_WRITE = 4;

    /** Bits of a read-write lock's state that count how often the write lock is taken; those above count readers. */
    private static final int WRITERS = 0xFFFF;

    /**
     * Number of ends that were lost and are not recorded yet. The handlers of instrumented code count here, and store in {@link
     * #LOST_ENDS}, because they can make no call: the stack may have overflowed. Not volatile: a thread sees its own, and each
     * event reads it.
     */
    public static int lost;

    /** The end of a wait was lost. */
    private static final int WAIT_END = -1;

    /** The class of virtual threads; null if the JVM has none. */
    private static final Class<?> VIRTUAL = virtual();

    private static volatile boolean virtualReported;

    private MethodBeat() {}

    /** A method is entered. */
    public static void i(int id) {
        if (ON) {
            if (U != null && (id >>> 20 != 0 || U.getByte(OFF + id) != 0)) {
                return;
            }
            begin(id);
        }
    }

    /** A method exits, by return or exception. */
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

    /**
     * Must not be inlined ({@code anrscope jvm} tells HotSpot so): compiling it into every instrumented method costs
     * more CPU time than the calls.
     */
    private static void begin(int id) {
        try {
            if (Thread.currentThread() != MAIN) {
                enterOther(id);
                return;
            }
            long at = behind;
            if (U != null && (at & IN_BLOCK) != 0 && lost == 0) {
                long since = U.getLong(GATE);
                if (since >= 0) {
                    U.putLong(at, 0);
                    U.putLong(at - 8, Long.MIN_VALUE | (long) id << 43 | since);
                    behind = at + 8;
                    return;
                }
            }
            if (lost != 0) {
                noteLoss();
            }
            behind = floor = enter(MAIN_WRITER, id, at);
        } catch (StackOverflowError | OutOfMemoryError unrecorded) {
            // The method is entered all the same. A reader finds its exit without an enter.
        }
    }

    /** See {@link #begin}. */
    private static void end(int id) {
        try {
            if (Thread.currentThread() != MAIN) {
                exitOther(id);
            } else if (--left < 0) {
                timed(id);
            } else {
                // Not a method of its own, which C1 would not inline.
                long at = behind;
                if (U != null) {
                    long since = U.getLong(GATE);
                    if (since >= 0) {
                        if (at > floor) {
                            // The call that exits: for any other word the difference exceeds every limit.
                            long length = (Long.MIN_VALUE | (long) id << 43 | since) - U.getLong(at - 16);
                            if (length >= 0 && length <= U.getLong(TIME + FOLD_MAIN)) {
                                U.putLong(at - 16, 0);
                                behind = at - 8;
                                return;
                            }
                        }
                        if ((at & IN_BLOCK) != 0 && lost == 0) {
                            U.putLong(at, 0);
                            U.putLong(at - 8, (long) id << 43 | since);
                            behind = at + 8;
                            return;
                        }
                    }
                }
                if (lost != 0) {
                    noteLoss();
                }
                behind = floor = exit(MAIN_WRITER, id, at);
            }
        } catch (StackOverflowError | OutOfMemoryError unrecorded) {
            LOST_ENDS[lost & LOST_ENDS.length - 1] = id;
            lost++;
        }
    }

    /** A method is entered on another thread than main. */
    private static void enterOther(int id) {
        long[] state = state();
        if (state[0] == 0) {
            return;
        }
        long at = state[BEHIND];
        if (U != null && (at & IN_BLOCK) != 0 && lost == 0) {
            long since = U.getLong(TIME) - U.getLong(state[1] + 8);
            if (since >>> GAP_BITS == 0) {
                U.putLong(at, 0);
                U.putLong(at - 8, Long.MIN_VALUE | (long) id << 43 | since);
                state[BEHIND] = at + 8;
                return;
            }
        }
        if (lost != 0) {
            noteLoss();
        }
        state[BEHIND] = state[FLOOR] = enter(state[0], id, at);
    }

    /** A method exits on another thread than main. */
    private static void exitOther(int id) {
        long[] state = state();
        if (state[0] == 0) {
            return;
        }
        if (--state[LEFT] < 0) {
            timed(id);
            return;
        }
        long at = state[BEHIND];
        if (U != null) {
            long since = U.getLong(TIME) - U.getLong(state[1] + 8);
            if (since >>> GAP_BITS == 0) {
                if (at > state[FLOOR]) {
                    long length = (Long.MIN_VALUE | (long) id << 43 | since) - U.getLong(at - 16);
                    if (length >= 0 && length <= U.getLong(TIME + FOLD_OTHERS)) {
                        U.putLong(at - 16, 0);
                        state[BEHIND] = at - 8;
                        return;
                    }
                }
                if ((at & IN_BLOCK) != 0 && lost == 0) {
                    U.putLong(at, 0);
                    U.putLong(at - 8, (long) id << 43 | since);
                    state[BEHIND] = at + 8;
                    return;
                }
            }
        }
        if (lost != 0) {
            noteLoss();
        }
        state[BEHIND] = state[FLOOR] = exit(state[0], id, at);
    }

    /**
     * Tells the library what was lost, which records it on each thread before the next word that native code writes there:
     * which thread has lost it is not known. A call that leaves nothing needs none of it.
     */
    private static void noteLoss() {
        int count = lost;
        // The library, too, keeps the last ones, as many: of one more it knows that others are unknown.
        for (int left = Math.min(count, LOST_ENDS.length + 1); left > 0; left--) {
            lost(LOST_ENDS[count - left & LOST_ENDS.length - 1]);
        }
        if (lost == count) {
            lost = 0;
        }
    }

    /**
     * A method exits that has just been switched off. If its enter is the last word, the call ends here; otherwise its
     * end is unknown.
     */
    private static void close(int id) {
        long enter = Long.MIN_VALUE | (long) id << 43;
        if (Thread.currentThread() == MAIN) {
            long at = behind;
            if (at > floor && U.getLong(at - 16) >>> 43 == enter >>> 43) {
                behind = floor = exit(MAIN_WRITER, id, at);
            }
            return;
        }
        long[] state = state();
        long at = state[BEHIND];
        if (at > state[FLOOR] && U.getLong(at - 16) >>> 43 == enter >>> 43) {
            state[BEHIND] = state[FLOOR] = exit(state[0], id, at);
        }
    }

    /** As {@link #o}, but measures its duration and reports it with the method's id: one call in thousands. */
    private static void timed(int id) {
        boolean main = Thread.currentThread() == MAIN;
        long[] state = main ? null : state();
        if (main) {
            left = Integer.MAX_VALUE;
        } else {
            state[LEFT] = Integer.MAX_VALUE;
        }
        int next = FIRST_TIMED;
        try {
            // The duration of reading the clock is measured and subtracted.
            long before = System.nanoTime();
            long begin = System.nanoTime();
            o(id);
            long end = System.nanoTime();
            next = sampled(main ? MAIN_WRITER : state[0], id, end - begin - (begin - before));
        } finally {
            if (main) {
                left = next;
            } else {
                state[LEFT] = next;
            }
        }
    }

    /** State of the calling thread, which is not main. */
    private static long[] state() {
        Thread thread = Thread.currentThread();
        if (TID != 0) {
            long tid = U.getLong(thread, TID);
            long[] state = STATES[(int) tid & STATES.length - 1];
            if (state != null && state[OWNER] == tid) {
                return state;
            }
            return findState(thread, tid);
        }
        return findState(thread, -1);
    }

    /** The same through the thread-local; a new thread joins. */
    private static long[] findState(Thread thread, long tid) {
        if (VIRTUAL != null && VIRTUAL.isInstance(thread)) {
            reportVirtualThreads();
            return UNRECORDED;
        }
        int identity = System.identityHashCode(thread);
        if (FAILED[identity & FAILED.length - 1] == identity) {
            return UNRECORDED;
        }
        try {
            long[] state = WRITER.get();
            if (state == null) {
                state = new long[STATE_LENGTH];
                WRITER.set(state);
            }
            if (state[OWNER] == 0) {
                long writer = join(thread.getName());
                state[1] = writer == 0 || U == null ? 0 : U.getLong(writer);
                state[LEFT] = FIRST_TIMED;
                state[UID] = writer == 0 ? 0 : uid(writer);
                state[0] = writer;
                // Last: where one of these calls overflows the stack, the next event tries again.
                state[OWNER] = tid;
            }
            if (TID != 0) {
                STATES[(int) tid & STATES.length - 1] = state;
            }
            return state;
        } catch (OutOfMemoryError without) {
            FAILED[identity & FAILED.length - 1] = identity;
            return UNRECORDED;
        }
    }

    /** An activity's window gains or loses focus: exactly once per change, regardless of what the activity overrides. */
    public static void at(android.app.Activity activity, boolean hasFocus) {
        if (ON) {
            try {
                focus(
                        activity == null ? null : ((Object) activity).getClass().getName(),
                        System.identityHashCode(activity),
                        hasFocus);
            } catch (StackOverflowError | OutOfMemoryError unrecorded) {
                // The call stands where the method is entered, or behind a call that needed more of the stack.
            }
        }
    }

    /**
     * A method begins that takes locks or permits: 0. Or a wait begins: 1 entering a monitor, 2 Object.wait, 3 park,
     * 4 sleep, 5 join, 6 a blocking call, 7 taking a lock of java.util.concurrent, 8 waiting at a condition of one,
     * 10 taking one permit. What is there already is no wait: see {@link #isReady}.
     *
     * @param what the kind, and above its 4 bits the number of the call, 0 if it has none
     * @param on the object waited on or for; may be null
     */
    public static void wb(int what, Object on) {
        if (!ON) {
            return;
        }
        if (what == TAKES_LOCKS) {
            leaveRoom(ROOM);
            return;
        }
        try {
            beginWait(what, on);
        } catch (StackOverflowError | OutOfMemoryError unrecorded) {
            // The call waits all the same.
        }
    }

    /**
     * Overflows the stack if there is too little room to give back what the method will take. After an overflow in one of
     * the calls around it, HotSpot goes on in the interpreter, with a larger frame; without this, the app would take what it
     * then cannot give back. Where a method begins, an overflow is the one that the method itself has a few frames deeper:
     * none of its code has run.
     */
    private static void leaveRoom(int calls) {
        if (calls > 0) {
            leaveRoom(calls - 1);
        }
    }

    private static void beginWait(int what, Object on) {
        boolean main = Thread.currentThread() == MAIN;
        long[] state = main ? MAIN_STATE : state();
        if (!main && state[0] == 0) {
            return;
        }
        int kind = what & KIND;
        if (kind == BLOCKING) {
            int call = callOf(what, state);
            state[CALLS] = state[CALLS] << 12 | call;
            if (call != 0) {
                i(CALL_IDS | call);
                return;
            }
        }
        boolean mayBeReady = mayBeReady(kind);
        if (mayBeReady && isReady(kind, on)) {
            pushWaiting(state, false);
            return;
        }
        int id = System.identityHashCode(on);
        int name = on == null ? 0 : className(on.getClass());
        int recorded = kind >= LOCK ? what - kind + PARK : what;
        int lock = kind == LOCK ? whole(id) : id;
        if (main) {
            behind = floor = waitBegin(MAIN_WRITER, behind, recorded, lock, name);
        } else {
            state[BEHIND] = state[FLOOR] = waitBegin(state[0], state[BEHIND], recorded, lock, name);
        }
        if (mayBeReady) {
            pushWaiting(state, true);
        }
        if (kind == OBJECT_WAIT) {
            gaveUp(id);
        } else if (kind == CONDITION) {
            gaveUp(whole(id));
        }
    }

    /**
     * The call if its thread makes so many that it waits for none of them long, as in a loop over reads that return at once.
     * Then a word has the call and nothing else, and is taken back like a short method's. 0 for one that is recorded as a wait.
     */
    private static int callOf(int what, long[] state) {
        long calls = ++state[SPAN_CALLS];
        // Beyond those, the clock is read for one in 64.
        if (calls <= MOST_CALLS || (calls & 63) == 0) {
            long now = System.nanoTime();
            if (now - state[SPAN_BEGAN] > SPAN) {
                state[SPAN_BEGAN] = now;
                state[SPAN_CALLS] = calls = 1;
            }
        }
        return calls > MOST_CALLS ? 0x800 | what >>> 4 : 0;
    }

    /** A wait ends; 9 for a lock that was not taken, because the call threw. */
    public static void we(int kind, Object on) {
        if (!ON) {
            return;
        }
        boolean main = Thread.currentThread() == MAIN;
        long[] state = main ? MAIN_STATE : state();
        if (!main && state[0] == 0) {
            return;
        }
        if (kind == BLOCKING) {
            int call = (int) state[CALLS] & 0xFFF;
            state[CALLS] >>>= 12;
            if (call != 0) {
                o(CALL_IDS | call);
                return;
            }
        }
        int id = System.identityHashCode(on);
        boolean waited = !mayBeReady(kind) || popWaiting(state);
        int lock = kind >= LOCK ? whole(id) : id;
        if (waited) {
            int recorded = kind >= LOCK ? PARK : kind;
            if (main) {
                behind = floor = waitEnd(MAIN_WRITER, behind, recorded, lock);
            } else {
                state[BEHIND] = state[FLOOR] = waitEnd(state[0], state[BEHIND], recorded, lock);
            }
        }
        if (on != null && (kind == LOCK || kind == CONDITION || kind == OBJECT_WAIT)) {
            acquire(lock);
        }
    }

    /** The calling thread has left a monitor or a lock. */
    public static void wr(Object on) {
        if (ON && known()) {
            int id = whole(System.identityHashCode(on));
            if (OWNERS == 0) {
                released(id);
            } else {
                released(id, uid());
            }
        }
    }

    /** The calling thread has tried to take a lock. */
    public static void wt(boolean taken, Object on) {
        if (taken && ON && known()) {
            acquire(whole(System.identityHashCode(on)));
        }
    }

    /**
     * A step of concurrent work. The steps and their objects are those of {@code ConcurrencyStep} in {@code trace-format}.
     *
     * @param object what it happened to; may be null
     * @param other the second object; may be null
     * @param step the step's number, shifted left by 16, and the source line of the call
     * @param method the id of the method of the call, or of the task's code
     */
    public static void c(Object object, Object other, int step, int method) {
        if (!ON) {
            return;
        }
        boolean main = Thread.currentThread() == MAIN;
        long[] state = main ? null : state();
        if (!main && state[0] == 0) {
            return;
        }
        int first = System.identityHashCode(object);
        int second = System.identityHashCode(other);
        int kind = step >>> 16;
        if (kind == PART_OF && !isNewPart(first, second)) {
            return;
        }
        int name = 0;
        if (kind == THREAD_STARTED && object instanceof Thread) {
            name = text(((Thread) object).getName());
        } else if (object != null) {
            name = className(object.getClass());
        }
        long head = (long) step << 32 | method & 0xFFFFFFFFL;
        long objects = (long) first << 32 | second & 0xFFFFFFFFL;
        long classes = (long) name << 32 | (other == null ? 0 : className(other.getClass()));
        if (main) {
            behind = floor = step(MAIN_WRITER, behind, head, objects, classes);
        } else {
            state[BEHIND] = state[FLOOR] = step(state[0], state[BEHIND], head, objects, classes);
        }
    }

    private static void pushWaiting(long[] state, boolean recorded) {
        state[WAITING] = state[WAITING] << 1 | (recorded ? 1 : 0);
    }

    private static boolean popWaiting(long[] state) {
        long bits = state[WAITING];
        state[WAITING] = bits >>> 1;
        return (bits & 1) != 0;
    }

    /** Whether a call of this kind may find at once what it would wait for. */
    private static boolean mayBeReady(int kind) {
        return kind == PARK || kind == LOCK || kind == NOT_LOCKED || kind == PERMIT;
    }

    /**
     * Whether the call finds at once what it would wait for: a free lock, a permit, a finished {@link FutureTask}, an open
     * latch. Asked of the JDK's own classes only: others may be instrumented. Another thread may be faster: that wait is not
     * recorded.
     */
    private static boolean isReady(int kind, Object on) {
        if (on == null) {
            return false;
        }
        Class<?> type = on.getClass();
        if (kind == LOCK) {
            if (type != ReentrantLock.class) {
                return (type == ReentrantReadWriteLock.ReadLock.class || type == ReentrantReadWriteLock.WriteLock.class)
                        && isFree(on, type == ReentrantReadWriteLock.ReadLock.class);
            }
            ReentrantLock lock = (ReentrantLock) on;
            // Behind others in a fair lock's queue it is a wait.
            return lock.isHeldByCurrentThread() || !lock.isLocked() && !(lock.isFair() && lock.hasQueuedThreads());
        }
        if (kind == PERMIT) {
            if (type != Semaphore.class) {
                return false;
            }
            Semaphore semaphore = (Semaphore) on;
            return semaphore.availablePermits() > 0 && !(semaphore.isFair() && semaphore.hasQueuedThreads());
        }
        return type == FutureTask.class && ((FutureTask<?>) on).isDone()
                || type == CountDownLatch.class && ((CountDownLatch) on).getCount() == 0;
    }

    /** The identity of the lock that a condition, or a read or write lock, belongs to; its own if it is a lock itself. */
    private static int whole(int part) {
        long known = PARTS.get(part & PARTS.length() - 1);
        return (int) (known >>> 32) == part ? (int) known : part;
    }

    private static boolean isNewPart(int part, int whole) {
        int at = part & PARTS.length() - 1;
        long known = (long) part << 32 | whole & 0xFFFFFFFFL;
        if (PARTS.get(at) == known) {
            return false;
        }
        PARTS.lazySet(at, known);
        return true;
    }

    private static int uid() {
        return Thread.currentThread() == MAIN ? MAIN_UID : (int) state()[UID];
    }

    private static void acquire(int lock) {
        if (OWNERS == 0) {
            acquired(lock);
        } else {
            acquired(lock, uid());
        }
    }

    /** The slot of a lock in the table of owners: its identity (8 bytes), the owner's number (4), how often it has it (4). */
    private static long slot(long lock) {
        return OWNERS + (lock * 0x9E3779B97F4A7C15L >>> 52 << 4);
    }

    /** As {@code Owners::acquired} in the native recorder. */
    private static void acquired(long lock, int uid) {
        long slot = slot(lock);
        if (U.getLong(slot) == lock && U.getInt(slot + 8) == uid) {
            U.putInt(slot + 12, U.getInt(slot + 12) + 1);
            return;
        }
        if (U.getInt(slot + 8) != 0) {
            if (U.getLong(slot) != lock) {
                // The count of forgotten owners, behind 4,096 slots. Two at the same time may count as one.
                U.putLong(OWNERS + 65536, U.getLong(OWNERS + 65536) + 1);
            }
            U.putInt(slot + 8, 0);
            U.storeFence();
        }
        U.putLong(slot, lock);
        U.putInt(slot + 12, 1);
        U.storeFence();
        U.putInt(slot + 8, uid);
    }

    /** As {@code Owners::released}. */
    private static void released(long lock, int uid) {
        long slot = slot(lock);
        if (U.getLong(slot) == lock && U.getInt(slot + 8) == uid) {
            int depth = U.getInt(slot + 12) - 1;
            U.putInt(slot + 12, depth);
            if (depth <= 0) {
                U.putInt(slot + 8, 0);
            }
        }
    }

    /**
     * Requests a thread dump of this process, which is written to its usual destination, and returns before it is
     * written. The recording notes the request.
     *
     * @return whether it was requested
     */
    public static boolean dump() {
        return ON && askForDump();
    }

    /**
     * Sets the directory of the recording's file, if it has none: on Android no directory is known before the first
     * Context. Earlier events are in memory; a library thread moves them to the file.
     */
    public static void destination(String directory) {
        if (ON && directory != null) {
            setDestination(directory);
        }
    }

    /** Whether the library is loaded and recording was started. */
    public static boolean isRecording() {
        return ON;
    }

    /** Pauses recording, for example in the background. Open calls stay open. */
    public static void pause() {
        if (ON) {
            control(0);
        }
    }

    /** Resumes after {@link #pause}, or changes the clock while recording. */
    public static void resume(boolean coarse) {
        if (ON) {
            control(coarse ? 2 : 1);
        }
    }

    /** Switches the method with this id off or on. */
    public static void method(int id, boolean on) {
        if (ON) {
            setMethod(id, on);
        }
    }

    /** Whether the calling thread is recorded; a new thread joins. */
    private static boolean known() {
        return Thread.currentThread() == MAIN || state()[0] != 0;
    }

    private static void reportVirtualThreads() {
        if (!virtualReported) {
            virtualReported = true;
            // Two threads may both get here: then the notice is recorded twice.
            notice("virtual threads are left out of this recording");
        }
    }

    private static Class<?> virtual() {
        // Older versions have none, and a failed class lookup creates an exception with a stack, during the app's
        // start.
        if (major() < 19) {
            return null;
        }
        try {
            return Class.forName("java.lang.BaseVirtualThread", false, null);
        } catch (Throwable none) {
            return null;
        }
    }

    /** A class whose name has an id. Does not keep the class alive. */
    private static final class Name extends WeakReference<Class<?>> {
        final int id;

        Name(Class<?> of, int id) {
            super(of);
            this.id = id;
        }
    }

    private static long[] lockFields() {
        try {
            if (U != null && !android()) {
                return new long[] {
                    offset(AbstractQueuedSynchronizer.class, "state"),
                    offset(AbstractQueuedSynchronizer.class, "head"),
                    offset(AbstractQueuedSynchronizer.class, "tail"),
                    offset(ReentrantReadWriteLock.ReadLock.class, "sync"),
                    offset(ReentrantReadWriteLock.WriteLock.class, "sync")
                };
            }
        } catch (Throwable unknown) {
            // Then each lock is a wait.
        }
        return null;
    }

    private static long offset(Class<?> of, String field) throws NoSuchFieldException {
        return U.objectFieldOffset(of.getDeclaredField(field));
    }

    /** Whether taking a lock of a read-write lock is no wait. Behind others in the lock's queue it may be one. */
    private static boolean isFree(Object lock, boolean reads) {
        if (LOCK_FIELDS == null) {
            return false;
        }
        Object sync = U.getObject(lock, LOCK_FIELDS[reads ? SYNC_OF_READ : SYNC_OF_WRITE]);
        int state = U.getIntVolatile(sync, LOCK_FIELDS[STATE]);
        if (reads ? (state & WRITERS) != 0 : state != 0) {
            return !reads && ((ReentrantReadWriteLock.WriteLock) lock).isHeldByCurrentThread();
        }
        return U.getObjectVolatile(sync, LOCK_FIELDS[HEAD]) == U.getObjectVolatile(sync, LOCK_FIELDS[TAIL]);
    }

    /** The id of a class's name; 0, no name, without memory. Known names need no lock and no allocation. */
    private static int className(Class<?> of) {
        int at = System.identityHashCode(of) & NAMES.length - 1;
        Name known = NAMES[at];
        if (known != null && known.get() == of) {
            return known.id;
        }
        try {
            int id = text(of.getName());
            // All fields are final: another thread sees a complete object or null.
            NAMES[at] = new Name(of, id);
            return id;
        } catch (OutOfMemoryError unnamed) {
            return 0;
        }
    }

    /**
     * Access to memory by address, if it is permitted and works.
     *
     * <p>From Java 24 on its first use prints a warning on the program's stderr, unless the JVM was started with {@code
     * --sun-misc-unsafe-memory-access=allow}; the property says that it was. On 32-bit systems a long may not be loaded
     * atomically. Android has the methods from API 24 on.
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
            // Main has recorded nothing yet, so its gate is closed; storing the same value keeps it closed.
            unsafe.putLong(GATE, unsafe.getLong(GATE));
            // No method has id 0: its switch is always off.
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
            } else if (library.length() > 0) {
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

    /** The requested resolution, in front of it the clock, which is the older option. */
    private static String resolution() {
        String clock = System.getProperty("anrscope.clock");
        String resolution = System.getProperty("anrscope.resolution");
        return clock == null ? resolution : resolution == null ? clock : clock + " " + resolution;
    }

    private static boolean android() {
        return "Dalvik".equals(System.getProperty("java.vm.name"));
    }

    /**
     * The property, or else the main class or jar from the launcher; null on Android, where the kernel knows the name.
     */
    private static String processName() {
        String given = System.getProperty("anrscope.name");
        if (given != null) {
            return given;
        }
        if (android()) {
            return null;
        }
        String command = System.getProperty("sun.java.command", "java").trim();
        int end = command.indexOf(' ');
        return end < 0 ? command : command.substring(0, end);
    }

    private static String mapId() {
        String given = System.getProperty("anrscope.mapId");
        if (given != null) {
            return given;
        }
        try {
            // The map class is part of the app. So is this class on Android; on a JVM it is on the boot class path.
            ClassLoader app = MethodBeat.class.getClassLoader();
            if (app == null) {
                app = ClassLoader.getSystemClassLoader();
            }
            Class<?> map = Class.forName("dev.anrscope.MapId", true, app);
            return (String) map.getField("ID").get(null);
        } catch (Throwable unknown) {
            // Instrumented without a map class: readers then report that they cannot compare.
            return null;
        }
    }

    private static native long start(
            String directory,
            String process,
            String mapId,
            String resolution,
            long mainWords,
            long poolWords,
            String maxOverhead,
            boolean traceText,
            boolean mainOnly);

    private static native void setDestination(String directory);

    private static native long join(String name);

    private static native long address(int what);

    private static native int text(String text);

    private static native void notice(String text);

    private static native void control(int what);

    private static native void setMethod(int id, boolean on);

    private static native int sampled(long writer, int id, long nanos);

    private static native long enter(long writer, int id, long behind);

    private static native long exit(long writer, int id, long behind);

    private static native long waitBegin(long writer, long behind, int what, int lock, int className);

    private static native void focus(String activityClass, int activity, boolean hasFocus);

    private static native long waitEnd(long writer, long behind, int kind, int lock);

    private static native void released(int lock);

    private static native void acquired(int lock);

    private static native void gaveUp(int lock);

    private static native int uid(long writer);

    private static native long step(long writer, long behind, long head, long objects, long classes);

    private static native boolean askForDump();

    private static native void lost(int what);
}
