import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

/**
 * Takes and releases a lock at each depth near the end of a small stack, and tells which locks stay held.
 *
 * <p>{@code Locks MIXES WARM-UP [main]} prints a line for each kind of lock: how many calls overflowed, how many of those
 * left the lock held, how many of these by a call that is not in the source, and how many calls threw something else. A
 * plain JVM also leaves a lock held now and then, if its own code overflows after it has taken the lock. Under its kind
 * stands each place with its number:
 *
 * <pre>
 * TIMES held|released|threw|passed after ERROR from ABOVE:LINE in TOP, step STEP
 * </pre>
 *
 * <p>ABOVE says what is above the program's own frame, whose line follows: a frame of the recorder ({@code inserted}),
 * only the JDK's ({@code jdk}), or none ({@code own}). A semaphore with more permits than it was made with is {@code
 * released} too often. An overflow {@code passed} an inserted call although no lock was held.
 *
 * <p>A leak is by an inserted call if a frame of {@code dev.anrscope} is above the program's own, if the program's own
 * frame is on top although the lock is taken and the {@code try} not begun, since there the source has no call, or if
 * nothing was thrown.
 */
public final class Locks {
    static final String[] KINDS = {
        "ReentrantLock", "read lock", "write lock", "StampedLock", "Semaphore", "Condition.await", "Condition.signal", "synchronized block",
        "synchronized method", "static synchronized method"
    };

    static final class Monitor {
        synchronized void use() {
            step = INSIDE;
            count++;
        }

        static synchronized void useStatic() {
            step = INSIDE;
            count++;
        }
    }

    /** How far a use of the lock came. */
    static int step;

    static final int OUTSIDE = 0;
    static final int TAKING = 1;
    static final int INSIDE = 2;
    static final int WAITING = 3;
    static final int DONE = 4;
    static final String[] STEPS = {"OUTSIDE", "TAKING", "INSIDE", "WAITING", "DONE"};

    static int count;
    static ReentrantLock lock;
    static Condition condition;
    static ReentrantReadWriteLock readWrite;
    static StampedLock stamped;
    static Semaphore semaphore;
    static Monitor monitor;

    static void make() {
        lock = new ReentrantLock();
        condition = lock.newCondition();
        readWrite = new ReentrantReadWriteLock();
        stamped = new StampedLock();
        semaphore = new Semaphore(1);
        monitor = new Monitor();
        step = OUTSIDE;
    }

    static boolean held(int kind) {
        switch (kind) {
            case 1: return readWrite.getReadLockCount() != 0;
            case 2: return readWrite.isWriteLocked();
            case 3: return stamped.isWriteLocked();
            case 4: return semaphore.availablePermits() < 1;
            case 7:
            case 8: return Thread.holdsLock(monitor);
            case 9: return Thread.holdsLock(Monitor.class);
            default: return lock.isLocked();
        }
    }

    static void use(int kind) throws InterruptedException {
        step = TAKING;
        switch (kind) {
            case 0:
                lock.lock();
                try {
                    step = INSIDE;
                    count++;
                } finally {
                    lock.unlock();
                }
                break;
            case 1:
                readWrite.readLock().lock();
                try {
                    step = INSIDE;
                    count++;
                } finally {
                    readWrite.readLock().unlock();
                }
                break;
            case 2:
                readWrite.writeLock().lock();
                try {
                    step = INSIDE;
                    count++;
                } finally {
                    readWrite.writeLock().unlock();
                }
                break;
            case 3:
                long stamp = stamped.writeLock();
                try {
                    step = INSIDE;
                    count++;
                } finally {
                    stamped.unlockWrite(stamp);
                }
                break;
            case 4:
                semaphore.acquireUninterruptibly();
                try {
                    step = INSIDE;
                    count++;
                } finally {
                    semaphore.release();
                }
                break;
            case 5:
                lock.lock();
                try {
                    step = WAITING;
                    condition.awaitNanos(1);
                    step = INSIDE;
                } finally {
                    lock.unlock();
                }
                break;
            case 6:
                lock.lock();
                try {
                    step = INSIDE;
                    condition.signalAll();
                } finally {
                    lock.unlock();
                }
                break;
            case 7:
                synchronized (monitor) {
                    step = INSIDE;
                    count++;
                }
                break;
            case 8:
                monitor.use();
                break;
            default:
                Monitor.useStatic();
                break;
        }
        step = DONE;
    }

    /** Descends {@code depth} more frames, which are traced as the callers of a lock usually are, and uses the lock there. */
    static int narrow(int depth, int mix, int kind) throws InterruptedException {
        if (depth == 0) {
            use(kind);
            return 0;
        }
        return ((mix & 1) == 0 ? narrow(depth - 1, mix >>> 1, kind) : wide(depth - 1, mix >>> 1, kind, mix, mix, mix)) + 1;
    }

    static int wide(int depth, int mix, int kind, long a, long b, long c) throws InterruptedException {
        if (depth == 0) {
            use(kind);
            return 0;
        }
        long sum = a + b * c;
        return ((mix & 1) == 0 ? narrow(depth - 1, mix >>> 1, kind) : wide(depth - 1, mix >>> 1, kind, sum, a, b)) + (int) (sum & 1);
    }

    static boolean ofTheJdk(String name) {
        return name.startsWith("java.") || name.startsWith("jdk.") || name.startsWith("sun.");
    }

    /** Returns what is above the program's own frames, the line of the innermost of them if it is in this class, and the frame on top. */
    static String origin(Throwable thrown) {
        StackTraceElement[] trace = thrown == null ? new StackTraceElement[0] : thrown.getStackTrace();
        String above = "jdk";
        for (StackTraceElement frame : trace) {
            if (frame.getClassName().startsWith("dev.anrscope.")) {
                above = "inserted";
            } else if (!ofTheJdk(frame.getClassName())) {
                int line = frame.getClassName().startsWith("Locks") ? frame.getLineNumber() : 0;
                return (frame == trace[0] ? "own" : above) + ":" + line + " in " + trace[0].getClassName() + "." + trace[0].getMethodName();
            }
        }
        return "nowhere:0 in nothing";
    }

    static void sweep(int kind, int mixes) {
        Random random = new Random(5 + kind);
        int overflows = 0;
        int leaks = 0;
        int ours = 0;
        int others = 0;
        Map<String, Integer> places = new TreeMap<>();
        for (int i = 0; i < mixes; i++) {
            int mix = random.nextInt();
            // From the first depth that overflows in any case to one at which nothing overflows.
            int quiet = 0;
            int brim = Dive.brim(mix, () -> use(kind));
            for (int depth = brim; depth > brim - 100 && quiet < 8; depth--) {
                make();
                Throwable thrown = null;
                try {
                    Dive.to(depth, mix, () -> narrow(mix & 7, mix >>> 3, kind));
                } catch (Throwable any) {
                    thrown = any;
                }
                quiet = thrown == null ? quiet + 1 : 0;
                int reached = step;
                boolean held = held(kind);
                if (thrown instanceof StackOverflowError) {
                    overflows++;
                } else if (thrown != null) {
                    others++;
                }
                boolean released = semaphore.availablePermits() > 1;
                String origin = origin(thrown);
                boolean overflown = thrown instanceof StackOverflowError;
                if (held || released || thrown != null && !overflown || origin.startsWith("inserted")) {
                    String what = held ? "held" : released ? "released" : overflown ? "passed" : "threw";
                    String error = thrown == null ? "nothing" : thrown.getClass().getName();
                    places.merge(what + " after " + error + " from " + origin + ", step " + STEPS[reached], 1, Integer::sum);
                    boolean inserted = origin.startsWith("inserted") || origin.startsWith("own") && reached == TAKING || thrown == null;
                    leaks += held || released ? 1 : 0;
                    ours += (held || released) && inserted ? 1 : 0;
                }
            }
        }
        System.out.println(KINDS[kind] + ": overflows " + overflows + ", leaks " + leaks + ", inserted " + ours + ", others " + others);
        for (Map.Entry<String, Integer> place : places.entrySet()) {
            System.out.println("    " + place.getValue() + " " + place.getKey());
        }
    }

    public static void main(String[] arguments) throws Exception {
        int mixes = Integer.parseInt(arguments[0]);
        int warmUp = Integer.parseInt(arguments[1]);
        String version = System.getProperty("java.specification.version");
        int feature = version.startsWith("1.") ? 8 : Integer.parseInt(version);
        Dive.warmUp(warmUp);
        Runnable sweeps = () -> {
            for (int kind = 0; kind < KINDS.length; kind++) {
                // What the JVM compiles is compiled before the first overflow.
                for (int i = 0; i < warmUp; i++) {
                    make();
                    try {
                        use(kind == 5 && i > 1_000 ? 6 : kind);
                    } catch (InterruptedException never) {
                        throw new AssertionError(never);
                    }
                }
                if (kind == 5 && feature >= 22) {
                    // From Java 22 on a wait for a condition that overflows sleeps, longer each time, until it has its lock again.
                    System.out.println(KINDS[kind] + ": left out, since the JDK itself waits there for longer and longer");
                } else {
                    sweep(kind, mixes);
                }
            }
        };
        if (arguments.length > 2) {
            sweeps.run();
            return;
        }
        Thread thread = new Thread(null, sweeps, "brim", 320 * 1024L);
        thread.start();
        thread.join();
    }
}
