import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Threads, locks, lambdas, exceptions and reflection; prints the same each time. For Java 8 and later. */
public class Orders {
    private final List<String> lines = new ArrayList<>();

    synchronized void add(String line) {
        lines.add(line);
    }

    static int price(int item) {
        int price = 0;
        for (int part = 1; part <= item; part++) {
            price += part * 7 % 11;
        }
        return price;
    }

    static long total(int items) {
        long total = 0;
        for (int item = 0; item < items; item++) {
            total += price(item);
        }
        return total;
    }

    static String fail(int depth) {
        if (depth == 0) {
            throw new IllegalStateException("no stock");
        }
        return fail(depth - 1) + depth;
    }

    public static void main(String[] arguments) throws Exception {
        Orders orders = new Orders();
        ExecutorService workers = Executors.newFixedThreadPool(3);
        List<Callable<Long>> work = new ArrayList<>();
        for (int n = 1; n <= 12; n++) {
            int items = n * 40;
            work.add(() -> {
                long total = total(items);
                orders.add(items + " items cost " + total);
                return total;
            });
        }
        long sum = 0;
        for (Future<Long> done : workers.invokeAll(work)) {
            sum += done.get();
        }
        workers.shutdown();
        Collections.sort(orders.lines);
        orders.lines.forEach(System.out::println);
        System.out.println("sum " + sum);
        try {
            fail(3);
        } catch (IllegalStateException e) {
            e.printStackTrace();
        }
        for (Method method : Orders.class.getDeclaredMethods()) {
            if (method.getName().equals("price")) {
                System.out.println(method + " " + method.invoke(null, 9));
            }
        }
        System.out.println(new String(new char[] {'w', 'o', 'r', 'd'}) + " " + marker());
        System.exit(3);
    }

    /** A retransforming agent changes the first letter of this text. */
    static String marker() {
        return "Marker";
    }
}
