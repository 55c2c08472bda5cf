import java.net.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.concurrent.locks.*;

/** Programs whose main thread waits: why is known by construction. The argument names one. */
public class Stuck {
    static final Object STORE = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();

    static ThreadFactory named(String name) {
        AtomicInteger count = new AtomicInteger();
        return task -> new Thread(task, name + "-" + count.incrementAndGet());
    }
    static ExecutorService pool(String name, int threads) { return Executors.newFixedThreadPool(threads, named(name)); }
    static void quiet(Body body) { try { body.run(); } catch (Exception e) { throw new IllegalStateException(e); } }
    interface Body { void run() throws Exception; }
    static void sleep() { quiet(() -> Thread.sleep(1_000_000)); }
    /** A socket that nothing is ever written to. */
    static void read() { quiet(() -> { try (ServerSocket server = new ServerSocket(0); Socket socket = new Socket(InetAddress.getLoopbackAddress(), server.getLocalPort())) { server.accept(); socket.getInputStream().read(); } }); }

    static void save() { synchronized (STORE) { System.out.println("saved"); } }
    static void locked() { LOCK.lock(); LOCK.unlock(); }

    static final class Worker extends Thread {
        Worker() { super("worker"); }
        @Override public void run() { save(); }
    }
    static final class Reader extends Thread {
        Reader() { super("reader"); }
        @Override public void run() { read(); }
    }

    static void busyElsewhere() { pool("net", 1).submit(Stuck::read); }

    static void main0(String what) throws Exception {
        switch (what) {
            // The pool needs main's lock.
            case "future-monitor": synchronized (STORE) { ExecutorService io = pool("io", 3); Future<?> f = null; for (int i = 0; i < 5; i++) f = io.submit(Stuck::save); f.get(); } break;
            case "future-monitor-one-idle": { ExecutorService io = pool("io", 3); for (int i = 0; i < 3; i++) io.submit(() -> { }).get(); synchronized (STORE) { io.submit(Stuck::save).get(); } break; }
            case "future-monitor-others-busy": { ExecutorService io = pool("io", 3); io.submit(Stuck::read); synchronized (STORE) { io.submit(Stuck::save).get(); } break; }
            case "completable-monitor": synchronized (STORE) { CompletableFuture.runAsync(Stuck::save, pool("io", 1)).join(); } break;
            case "latch-monitor": synchronized (STORE) { CountDownLatch latch = new CountDownLatch(1); pool("io", 2).execute(() -> { save(); latch.countDown(); }); latch.await(); } break;
            case "invoke-all-monitor": synchronized (STORE) { pool("io", 2).invokeAll(Arrays.asList(Executors.callable(Stuck::save), Executors.callable(Stuck::save))); } break;
            case "common-pool-monitor": synchronized (STORE) { ForkJoinTask<?> t = ForkJoinPool.commonPool().submit(Stuck::save); while (Thread.getAllStackTraces().keySet().stream().noneMatch(x -> x.getState() == Thread.State.BLOCKED)) Thread.sleep(5); CompletableFuture.runAsync(Stuck::save).get(); } break;
            case "future-lock": LOCK.lock(); pool("io", 2).submit(Stuck::locked).get(); break;
            case "join-monitor": synchronized (STORE) { Thread t = new Worker(); t.start(); t.join(); } break;
            case "join-monitor-plain": synchronized (STORE) { Thread t = new Thread(Stuck::save, "saver"); t.start(); t.join(); } break;
            case "join-monitor-of-pool": synchronized (STORE) { Thread t = new Thread(() -> quiet(() -> pool("io", 2).submit(Stuck::save).get()), "starter"); t.start(); t.join(); } break;
            case "future-of-future-monitor": synchronized (STORE) { ExecutorService io = pool("io", 1); pool("ui", 1).submit(() -> io.submit(Stuck::save).get()).get(); } break;
            // Main waits for a lock whose owner waits for threads that need the same lock.
            case "owner-waits-for-pool": { CountDownLatch in = new CountDownLatch(1); new Thread(() -> { synchronized (STORE) { in.countDown(); quiet(() -> pool("io", 2).submit(Stuck::save).get()); } }, "sync").start(); in.await(); Thread.sleep(100); save(); break; }
            // All threads of a pool wait for tasks of the same pool.
            case "nested-get": { ExecutorService io = pool("io", 2); CountDownLatch both = new CountDownLatch(2); Callable<Object> outer = () -> { both.countDown(); both.await(); return io.submit(() -> 1).get(); }; io.submit(outer); io.submit(outer).get(); break; }
            case "own-executor": { ExecutorService one = Executors.newSingleThreadExecutor(); one.submit(() -> one.submit(() -> 1).get()).get(); break; }
            case "nested-invoke-all": { ExecutorService io = pool("io", 1); io.submit(() -> io.invokeAll(Arrays.asList(() -> 1, () -> 2))).get(); break; }
            case "nested-supply": { ExecutorService io = pool("io", 2); CountDownLatch both = new CountDownLatch(2); CompletableFuture<Void> f = null; for (int i = 0; i < 2; i++) f = CompletableFuture.runAsync(() -> { both.countDown(); quiet(both::await); CompletableFuture.supplyAsync(() -> 1, io).join(); }, io); f.join(); break; }
            // Main waits for a busy pool.
            case "busy-pool": { ExecutorService io = pool("io", 4); for (int i = 0; i < 4; i++) io.submit(Stuck::read); io.submit(() -> 1).get(); break; }
            case "slow-task": pool("io", 2).submit(Stuck::read).get(); break;
            case "pool-behind-a-lock": { CountDownLatch in = new CountDownLatch(1); new Thread(() -> { synchronized (STORE) { in.countDown(); read(); } }, "db-writer").start(); in.await(); ExecutorService io = pool("io", 2); io.submit(Stuck::save); io.submit(Stuck::save).get(); break; }
            case "join-of-a-class": { new Thread(Stuck::sleep, "other").start(); Thread t = new Reader(); t.start(); t.join(); break; }
            // Healthy, or not to be decided.
            case "two-pools": { pool("net", 1).submit(Stuck::read); pool("io", 1).submit(Stuck::read).get(); break; }
            case "partly-waiting": { ExecutorService io = pool("io", 2), net = pool("net", 2); io.submit(() -> net.submit(Stuck::read).get()); io.submit(() -> net.submit(Stuck::read).get()).get(); break; }
            case "victims": { busyElsewhere(); synchronized (STORE) { Thread t = new Thread(Stuck::save, "logger"); t.start(); pool("io", 1).submit(Stuck::read).get(); } break; }
            case "idle-pools": { ExecutorService io = pool("io", 3); for (int i = 0; i < 3; i++) io.submit(() -> { }).get(); new CountDownLatch(1).await(); break; }
            case "idle-common-pool": { CompletableFuture.runAsync(() -> { }).join(); new CompletableFuture<Object>().join(); break; }
            case "http-like": { ExecutorService io = pool("io", 2); new Thread(() -> quiet(() -> java.nio.channels.Selector.open().select()), "selector").start(); for (int i = 0; i < 2; i++) io.submit(() -> new CompletableFuture<Object>().join()); io.submit(() -> 1).get(); break; }
            case "server-accept": { ExecutorService http = pool("http", 4); for (int i = 0; i < 4; i++) http.submit(Stuck::read); new ServerSocket(0).accept(); break; }
            case "server-join": { ExecutorService http = pool("http", 4); for (int i = 0; i < 4; i++) http.submit(Stuck::read); Thread t = new Thread(() -> quiet(() -> new ServerSocket(0).accept()), "acceptor"); t.start(); t.join(); break; }
            case "server-latch": { ExecutorService http = pool("http", 4), db = pool("db", 2); for (int i = 0; i < 4; i++) http.submit(() -> db.submit(Stuck::read).get()); new CountDownLatch(1).await(); break; }
            case "take-with-lock": { synchronized (STORE) { for (int i = 0; i < 2; i++) pool("log", 1).submit(Stuck::save); busyElsewhere(); new LinkedBlockingQueue<Object>().take(); } break; }
            case "scheduled": { ScheduledExecutorService s = Executors.newScheduledThreadPool(2, named("timer")); s.scheduleAtFixedRate(() -> { }, 1, 1, TimeUnit.HOURS); s.schedule(() -> 1, 1, TimeUnit.HOURS).get(); break; }
            case "sleeping-main": { ExecutorService io = pool("io", 2); io.submit(() -> io.submit(() -> 1).get()); io.submit(() -> io.submit(() -> 1).get()); sleep(); break; }
            case "compute": { pool("io", 2).submit(() -> { long x = 0; while (x >= 0) x = (x + 1) & 0xffff; return x; }).get(); break; }
            default: throw new IllegalArgumentException(what);
        }
    }

    /** The innermost methods of all threads. */
    static Map<String, List<String>> stacks() {
        Map<String, List<String>> stacks = new TreeMap<>();
        Thread.getAllStackTraces().forEach((thread, frames) -> {
            List<String> names = new ArrayList<>();
            for (StackTraceElement frame : frames) names.add(frame.getClassName() + "." + frame.getMethodName());
            if (thread != Thread.currentThread()) stacks.put(thread.getName(), names);
        });
        return stacks;
    }

    /** Prints the process's id when no thread has moved for a while. */
    static void clock(Thread main) {
        quiet(() -> {
            while (main.getState() == Thread.State.NEW || stacks().get("main").stream().noneMatch("Stuck.main0"::equals)) Thread.sleep(5);
            Map<String, List<String>> before = null;
            for (int same = 0; same < 12; Thread.sleep(25)) {
                Map<String, List<String>> now = stacks();
                same = now.equals(before) ? same + 1 : 0;
                before = now;
            }
        });
        System.out.println("pid " + ProcessHandle.current().pid());
        System.out.flush();
    }

    public static void main(String[] a) throws Exception {
        Thread main = Thread.currentThread(), clock = new Thread(() -> clock(main), "clock");
        clock.setDaemon(true);
        clock.start();
        main0(a[0]);
    }
}
