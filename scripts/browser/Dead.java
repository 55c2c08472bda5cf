/** Two threads that take two locks in opposite order: a deadlock. */
public class Dead {
    static final Object FIRST = new Object();
    static final Object SECOND = new Object();

    static void take(Object one, Object other) {
        synchronized (one) {
            try {
                Thread.sleep(300);
            } catch (InterruptedException ended) {
                return;
            }
            synchronized (other) {
                System.out.println("never");
            }
        }
    }

    public static void main(String[] arguments) {
        new Thread(() -> take(SECOND, FIRST), "worker-1").start();
        take(FIRST, SECOND);
    }
}
