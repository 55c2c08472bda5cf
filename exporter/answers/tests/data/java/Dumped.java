import java.util.concurrent.*;
import java.util.concurrent.locks.*;
public class Dumped {
    static final Object STORE = new Object(), CART = new Object(), MAIL = new Object();
    static final ReentrantLock LEFT = new ReentrantLock(), RIGHT = new ReentrantLock();
    static final CountDownLatch READY = new CountDownLatch(4);
    static void await() { READY.countDown(); try { READY.await(); } catch (InterruptedException e) { throw new RuntimeException(e); } }
    public static void main(String[] a) throws Exception {
        new Thread(() -> { synchronized (CART) { await(); synchronized (STORE) { System.out.println("never"); } } }, "SyncWorker").start();
        new Thread(() -> { LEFT.lock(); await(); RIGHT.lock(); }, "Left \"quoted\"").start();
        new Thread(() -> { RIGHT.lock(); await(); LEFT.lock(); }, "Right").start();
        Thread waiter = new Thread(() -> { synchronized (MAIL) { try { MAIL.wait(); } catch (InterruptedException e) {} } }, "Waiter");
        waiter.setDaemon(true); waiter.start();
        Thread s = new Thread(() -> { try { Thread.sleep(1000000); } catch (InterruptedException e) {} }, "Sleeper"); s.setDaemon(true); s.start();
        if (a.length > 0) virtual();
        System.out.println("pid " + ProcessHandle.current().pid()); System.out.flush();
        synchronized (STORE) { await(); total(); }
    }
    static void total() { synchronized (CART) { System.out.println("never"); } }
    static void virtual() throws Exception {
        java.lang.reflect.Method m = Thread.class.getMethod("startVirtualThread", Runnable.class);
        m.invoke(null, (Runnable) () -> { try { Thread.sleep(1000000); } catch (InterruptedException e) {} });
        m.invoke(null, (Runnable) () -> { long x = 0; while (true) x++; });
        m.invoke(null, (Runnable) () -> { try { Thread.sleep(100); } catch (InterruptedException e) {} synchronized (STORE) { System.out.println(1); } });
    }
}
