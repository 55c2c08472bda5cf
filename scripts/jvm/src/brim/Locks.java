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
 * <p>{@code Locks MIXES WARM-UP} prints a line for each kind of lock: how many calls overflowed, how many of those left the lock held, how many of these
 * by a call that is not in the source, and how many calls threw something else. A plain JVM also leaves a lock held now and then, if its own code
 * overflows after it has taken the lock. Each such place is printed under its kind.
 *
 * <p>A leak is by an inserted call if a frame of {@code dev.anrscope} is above the program's own, or if the program's own frame is on top although the lock
 * is taken and the {@code try} not begun: there the source has no call.
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
            case 4: return semaphore.availablePermits() != 1;
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
                    step = INSIDE;
                    condition.awaitNanos(1);
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
        step = OUTSIDE;
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

    /** True if a frame of the recorder is on top of the program's own frames. */
    static boolean throughTheRecorder(StackTraceElement[] trace) {
        for (StackTraceElement frame : trace) {
            if (frame.getClassName().startsWith("dev.anrscope.")) {
                return true;
            }
            if (!ofTheJdk(frame.getClassName())) {
                return false;
            }
        }
        return false;
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
                    places.merge("threw " + thrown, 1, Integer::sum);
                }
                if (held) {
                    StackTraceElement[] trace = thrown == null ? new StackTraceElement[0] : thrown.getStackTrace();
                    String top = trace.length == 0 ? "(no error)" : trace[0].getClassName();
                    boolean inserted = throughTheRecorder(trace) || reached == TAKING && !ofTheJdk(top);
                    leaks++;
                    ours += inserted ? 1 : 0;
                    String place = (inserted ? "inserted: " : "") + (trace.length == 0 ? top : top + "." + trace[0].getMethodName()) + ", step " + reached;
                    places.merge(place, 1, Integer::sum);
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
        Thread thread = new Thread(null, () -> {
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
        }, "brim", 320 * 1024L);
        thread.start();
        thread.join();
    }
}
