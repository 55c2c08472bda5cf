import com.example.sample.ReportStore;
import com.example.sample.Stalls;
import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;

/**
 * Checks the sample's stalls on a JVM, without Android (run by scripts/android/inspect-aar): each blocks its caller for
 * at least the given time, in the thread state that its name says.
 */
public final class StallsCheck {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private StallsCheck() {}

    public static void main(String[] words) throws Exception {
        lasts("busy", () -> run(() -> Stalls.busy(60)));
        lasts("sleep", () -> run(() -> Stalls.sleep(60)));
        lasts("garbage", () -> run(() -> Stalls.garbage(60)));
        File directory = Files.createTempDirectory("stalls").toFile();
        lasts("disk", () -> {
            Stalls.diskIo(directory, 60);
            return null;
        });
        check(directory.list().length == 0, "the disk stall left its file behind");
        lasts("pipe", () -> {
            check(Stalls.answerFromElsewhere(60) == 42, "another answer");
            return null;
        });
        lock();
        deadlock();
        storm();
        reports(new File(directory, "reports"));
        System.out.println("stalls: all correct");
    }

    private static Void run(Runnable what) {
        what.run();
        return null;
    }

    private static void lasts(String name, Callable<Void> stall) throws Exception {
        long begin = System.nanoTime();
        stall.call();
        check(System.nanoTime() - begin >= 60_000_000, name + " ended too early");
    }

    /** The worker holds it until the owner has been checked on the blocked thread. */
    private static void lock() throws Exception {
        Thread main = new Thread(() -> Stalls.lockHeldByWorker(30_000), "main-to-be");
        main.setDaemon(true);
        main.start();
        ThreadInfo seen = until(main, "waits for the lock");
        check(seen.getLockName().contains("PriceStore"), "it waits for " + seen.getLockName());
        check("SyncWorker".equals(seen.getLockOwnerName()), "held by " + seen.getLockOwnerName());
    }

    private static void deadlock() throws Exception {
        Thread main = new Thread(Stalls::deadlock, "main-to-be");
        main.setDaemon(true);
        main.start();
        until(main, "is in a deadlock");
        long end = System.nanoTime() + 30_000_000_000L;
        while (THREADS.findDeadlockedThreads() == null) {
            check(System.nanoTime() < end, "no deadlock found");
            Thread.sleep(5);
        }
        check(THREADS.findDeadlockedThreads().length == 2, "not two threads in the deadlock");
    }

    private static ThreadInfo until(Thread thread, String what) throws Exception {
        long end = System.nanoTime() + 30_000_000_000L;
        while (true) {
            ThreadInfo info = THREADS.getThreadInfo(thread.getId());
            if (info != null && info.getThreadState() == Thread.State.BLOCKED && info.getLockName() != null) {
                return info;
            }
            check(System.nanoTime() < end, "it never " + what);
            Thread.sleep(5);
        }
    }

    private static void storm() {
        List<Runnable> posted = new ArrayList<>();
        Stalls.messageStorm(posted::add, 12, 1);
        check(posted.size() == 12, posted.size() + " messages");
        posted.forEach(Runnable::run);
    }

    private static void reports(File directory) throws Exception {
        ReportStore store = new ReportStore(directory);
        check(store.all().length == 0, "reports before any was stored");
        for (int number = 0; number < 120; number++) {
            store.keep("{\"number\":" + number + "}");
            Thread.sleep(1);
        }
        File[] kept = store.all();
        check(kept.length == 100, kept.length + " reports are kept");
        check(ReportStore.read(kept[0]).contains("119"), "the newest is not the first: " + ReportStore.read(kept[0]));
    }

    private static void check(boolean right, String otherwise) {
        if (!right) {
            throw new AssertionError(otherwise);
        }
    }
}
