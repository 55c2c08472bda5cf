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
 * What the sample's stalls are on a JVM: run by scripts/android/inspect-aar, without Android. Each keeps its caller for at least
 * as long as it was told, in the state that its name says.
 */
public final class StallsCheck {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    private StallsCheck() {}

    public static void main(String[] words) throws Exception {
        lasts("busy", () -> run(() -> Stalls.busy(60)));
        lasts("sleep", () -> run(() -> Stalls.sleep(60)));
        lasts("garbage", () -> run(() -> Stalls.garbage(60)));
        File folder = Files.createTempDirectory("stalls").toFile();
        lasts("disk", () -> {
            Stalls.diskIo(folder, 60);
            return null;
        });
        check(folder.list().length == 0, "the file of the disk stall is left behind");
        lasts("pipe", () -> {
            check(Stalls.answerFromElsewhere(60) == 42, "another answer");
            return null;
        });
        lock();
        deadlock();
        storm();
        reports(new File(folder, "reports"));
        System.out.println("stalls: each does what it says");
    }

    private static Void run(Runnable what) {
        what.run();
        return null;
    }

    private static void lasts(String name, Callable<Void> stall) throws Exception {
        long begin = System.nanoTime();
        stall.call();
        check(System.nanoTime() - begin >= 60_000_000, name + " was over too early");
    }

    /** Held by the worker until a look at the blocked thread has shown who holds it. */
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
        until(main, "dead-locks");
        long end = System.nanoTime() + 30_000_000_000L;
        while (THREADS.findDeadlockedThreads() == null) {
            check(System.nanoTime() < end, "no dead-lock found");
            Thread.sleep(5);
        }
        check(THREADS.findDeadlockedThreads().length == 2, "not two threads in it");
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

    private static void reports(File folder) throws Exception {
        ReportStore store = new ReportStore(folder);
        check(store.all().length == 0, "reports where nobody kept one");
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
