import com.sun.management.ThreadMXBean;
import dev.anrscope.MethodBeat;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.lang.management.ManagementFactory;

/**
 * Writes events of every kind in a random order given by the seed, on main and on other threads, while the clock
 * changes. Logs each thread's events independently of the recorder: one file per thread, named after it, of 32-bit
 * numbers: the id, with bit 31 set for an enter; 0x40000000 and 0x40000001 for a wait's begin and end; 0x20000000 and the id of its
 * method for a step of concurrent work.
 *
 * <p>Arguments: directory of the logs, seed, events per thread, and whether to change the clock.
 */
public final class Mixed {
    private static final int WAIT = 0x40000000;
    private static final int STEP = 0x20000000;
    /** The step "acquired", as the second argument of c. */
    private static final int ACQUIRED = 8 << 16;
    private static volatile int running;

    public static void main(String[] args) throws Exception {
        String directory = args[0];
        long seed = Long.parseLong(args[1]);
        int events = Integer.parseInt(args[2]);
        boolean change = Boolean.parseBoolean(args[3]);
        // The thread that initialises the class is the recorded main thread.
        MethodBeat.method(1, true);
        Thread[] threads = new Thread[3];
        running = threads.length + 1;
        for (int i = 0; i < threads.length; i++) {
            long own = seed + i + 1;
            threads[i] = new Thread(() -> run(directory, own, events), "mixed-" + i);
            threads[i].start();
        }
        Thread changer =
                new Thread(
                        () -> {
                            boolean coarse = false;
                            while (running > 0) {
                                MethodBeat.resume(coarse);
                                coarse = !coarse;
                                try {
                                    Thread.sleep(3);
                                } catch (InterruptedException e) {
                                    return;
                                }
                            }
                        });
        if (change) {
            changer.start();
        }
        run(directory, seed, events);
        for (Thread thread : threads) {
            thread.join();
        }
        running = 0;
        if (change) {
            changer.join();
        }
        allocation();
    }

    private static void run(String directory, long seed, int events) {
        try {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream(events * 4);
            DataOutputStream log = new DataOutputStream(bytes);
            long state = seed * 0x9E3779B97F4A7C15L + 1;
            Object lock = new Object();
            for (int n = 0; n < events; n++) {
                state = state * 6364136223846793005L + 1442695040888963407L;
                int draw = (int) (state >>> 40);
                int id = 1 + (draw >>> 4) % 50_000;
                switch (draw & 15) {
                    case 0:
                        MethodBeat.wb(2, lock);
                        log.writeInt(WAIT);
                        break;
                    case 1:
                        MethodBeat.we(2, lock);
                        log.writeInt(WAIT | 1);
                        break;
                    case 2:
                        // Long enough for a tick or two, now and then.
                        if ((draw & 0x1FF0) == 0) {
                            Thread.sleep(1);
                        }
                        MethodBeat.o(id);
                        log.writeInt(id);
                        break;
                    case 3:
                        MethodBeat.c(lock, null, ACQUIRED, id);
                        log.writeInt(STEP | id);
                        break;
                    default:
                        if ((draw & 32) == 0) {
                            MethodBeat.i(id);
                            log.writeInt(id | 1 << 31);
                        } else {
                            MethodBeat.o(id);
                            log.writeInt(id);
                        }
                }
            }
            try (FileOutputStream out = new FileOutputStream(directory + "/" + Thread.currentThread().getName() + ".log")) {
                bytes.writeTo(out);
            }
            running--;
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(3);
        }
    }

    /**
     * Prints how many bytes 400,000 events allocate, with each clock and on another thread as well: the minimum of
     * three rounds. The JVM itself sometimes allocates for a thread (to resolve code again that was deoptimised); what
     * an event, a block or a wait allocated would be in every round.
     */
    private static void allocation() throws Exception {
        long[] found = {Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE, Long.MAX_VALUE};
        Runnable measure =
                () -> {
                    ThreadMXBean bean = (ThreadMXBean) ManagementFactory.getThreadMXBean();
                    long self = Thread.currentThread().getId();
                    int at = Thread.currentThread().getName().equals("main") ? 0 : 2;
                    for (int round = 0; round < 6; round++) {
                        int coarse = round & 1;
                        MethodBeat.resume(coarse == 1);
                        MethodBeat.wb(2, MethodBeat.class);
                        MethodBeat.we(2, MethodBeat.class);
                        MethodBeat.c(MethodBeat.class, found, ACQUIRED, 1);
                        bean.getThreadAllocatedBytes(self);
                        long before = bean.getThreadAllocatedBytes(self);
                        for (int i = 0; i < 200_000; i++) {
                            MethodBeat.i(1 + (i & 0xFFF));
                            MethodBeat.o(1 + (i & 0xFFF));
                        }
                        for (int i = 0; i < 1_000; i++) {
                            MethodBeat.wb(2, MethodBeat.class);
                            MethodBeat.we(2, MethodBeat.class);
                            MethodBeat.c(MethodBeat.class, found, ACQUIRED, 1);
                        }
                        long bytes = bean.getThreadAllocatedBytes(self) - before;
                        found[at + coarse] = Math.min(found[at + coarse], bytes);
                    }
                };
        measure.run();
        Thread other = new Thread(measure, "allocation");
        other.start();
        other.join();
        System.out.println("allocated " + found[0] + " " + found[1] + " " + found[2] + " " + found[3]);
    }
}
