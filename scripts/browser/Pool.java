import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Tasks that wait for tasks of the same pool until it has no thread left. */
public class Pool {
    static final ExecutorService POOL = Executors.newFixedThreadPool(2);

    static void work(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    static class Prices implements Callable<String> {
        @Override
        public String call() {
            return "never";
        }
    }

    static class Feed implements Callable<String> {
        @Override
        public String call() throws Exception {
            work(400);
            return POOL.submit(new Prices()).get();
        }
    }

    static class Offers implements Callable<String> {
        @Override
        public String call() throws Exception {
            work(900);
            return POOL.submit(new Prices()).get();
        }
    }

    static String show() throws Exception {
        Future<String> feed = POOL.submit(new Feed());
        POOL.submit(new Offers());
        work(150);
        return feed.get();
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println(show());
    }
}
