package plain;

import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/** Waits for monitors that another thread has for 300 ms. */
class Contended {
    static final ConcurrentHashMap<String, Integer> VALUES = new ConcurrentHashMap<>();

    /** Waits for a synchronized method, and for what the JDK locks. */
    static void wait(String line) throws Exception {
        CountDownLatch held = new CountDownLatch(1);
        Thread holder = new Thread(() -> hold(held), "holder");
        holder.start();
        held.await();
        int free = count(line);
        holder.join();

        CountDownLatch computing = new CountDownLatch(1);
        Thread computer = new Thread(() -> VALUES.computeIfAbsent(line, key -> slow(computing)), "computer");
        computer.start();
        computing.await();
        VALUES.computeIfAbsent(line, key -> 0);
        computer.join();
        VALUES.clear();
        System.out.println(line + " " + free);
    }

    static synchronized int count(String line) {
        int sum = 0;
        for (int n = 0; n < line.length(); n++) {
            sum += line.charAt(n) % 3;
        }
        return sum;
    }

    static synchronized void hold(CountDownLatch held) {
        slow(held);
    }

    static int slow(CountDownLatch begun) {
        begun.countDown();
        try {
            Thread.sleep(300);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        return 1;
    }
}
