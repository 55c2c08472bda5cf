import dev.anrscope.MethodBeat;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.FutureTask;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Marks each of the calls that instrumented code makes around a blocking call: what is there already is no wait. */
public final class Ready {
    private static final int PARK = 3;
    private static final int LOCK = 7;
    private static final int NOT_LOCKED = 9;
    private static final int PERMIT = 10;

    private static final ReentrantReadWriteLock written = new ReentrantReadWriteLock();

    private static void around(int id, int kind, Object on) {
        around(id, kind, kind, on);
    }

    private static void around(int id, int kind, int end, Object on) {
        MethodBeat.i(id);
        MethodBeat.wb(kind, on);
        MethodBeat.we(end, on);
        MethodBeat.o(id);
    }

    public static void main(String[] args) throws Exception {
        FutureTask<Integer> done = new FutureTask<>(() -> 1);
        done.run();
        CountDownLatch open = new CountDownLatch(0);
        ReentrantLock held = new ReentrantLock();
        Thread holder = new Thread(held::lock);
        holder.start();
        holder.join();
        // No waits.
        around(1, LOCK, new ReentrantLock());
        around(2, PERMIT, new Semaphore(1));
        around(3, PARK, done);
        around(4, PARK, open);
        ReentrantReadWriteLock read = new ReentrantReadWriteLock();
        read.readLock().lock();
        around(6, LOCK, read.readLock());
        around(7, LOCK, new ReentrantReadWriteLock(true).writeLock());
        // Waits.
        Thread writer = new Thread(written.writeLock()::lock);
        writer.start();
        writer.join();
        around(19, LOCK, NOT_LOCKED, written.readLock());
        around(20, LOCK, NOT_LOCKED, written.writeLock());
        around(21, LOCK, NOT_LOCKED, read.writeLock());
        around(11, LOCK, NOT_LOCKED, held);
        around(12, PERMIT, new Semaphore(0));
        around(13, PARK, new FutureTask<>(() -> 1));
        around(14, PARK, new CountDownLatch(1));
        // A permit that is there does not suffice for an acquire of several.
        around(15, PARK, new Semaphore(1));
        around(16, PARK, null);
        // A wait in a call that did not wait, and the other way round.
        MethodBeat.i(17);
        MethodBeat.wb(PARK, done);
        around(18, PARK, new CountDownLatch(1));
        MethodBeat.we(PARK, done);
        MethodBeat.wb(PARK, null);
        around(5, PARK, open);
        MethodBeat.we(PARK, null);
        MethodBeat.o(17);
    }
}
