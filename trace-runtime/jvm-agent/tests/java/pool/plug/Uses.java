package plug;

import java.util.concurrent.TimeUnit;

/** The JVM loads it before the class of the pool. */
public class Uses {
    public static void main(String[] arguments) throws InterruptedException {
        Pool pool = new Pool();
        pool.execute(() -> System.out.println("task of " + pool.getClass().getName()));
        pool.shutdown();
        System.out.println(pool.awaitTermination(10, TimeUnit.SECONDS));
    }
}
