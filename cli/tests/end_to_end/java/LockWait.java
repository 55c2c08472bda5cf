/** Main waits six seconds for a lock that another thread holds. */
public final class LockWait {
    private static final Object CART = new Object();
    private static volatile boolean owned;

    public static void main(String[] arguments) throws Exception {
        Thread owner = new Thread(LockWait::own, "owner");
        owner.start();
        while (!owned) {
            Thread.sleep(1);
        }
        total();
    }

    private static void total() {
        synchronized (CART) {
            System.out.println("done");
        }
    }

    private static void own() {
        synchronized (CART) {
            owned = true;
            pause();
        }
    }

    private static void pause() {
        try {
            Thread.sleep(6_000);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
