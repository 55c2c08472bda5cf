package bench.server;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URL;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A server under load: an HTTP server on the loopback address and its clients, in one process. Each request goes through what
 * `--waits` records: two pools, futures, a latch, a read-write lock, a semaphore and a queue. Ends after a fixed number of requests
 * and prints a checksum of the responses.
 *
 * <p>Argument: requests, 40,000 by default.
 */
public final class Server {
    private static final int CLIENTS = 4;

    private final ExecutorService requests = Executors.newFixedThreadPool(4);
    private final ExecutorService work = Executors.newFixedThreadPool(2);
    private final ReentrantReadWriteLock lock = new ReentrantReadWriteLock();
    private final Semaphore connections = new Semaphore(3);
    private final LinkedBlockingQueue<String> audit = new LinkedBlockingQueue<>();
    private final Map<Integer, String> prices = new HashMap<>();

    private Server() {
        for (int i = 0; i < 1_000; i++) {
            prices.put(i, "item " + i + " costs " + (i * 7 % 93) + "." + (i % 10));
        }
    }

    private String price(int id) {
        lock.readLock().lock();
        try {
            return prices.get(id % 1_000);
        } finally {
            lock.readLock().unlock();
        }
    }

    private void update(int id) {
        lock.writeLock().lock();
        try {
            prices.put(id % 1_000, "item " + id + " costs " + (id % 89) + ".0");
        } finally {
            lock.writeLock().unlock();
        }
    }

    private String page(int id) throws Exception {
        CountDownLatch parts = new CountDownLatch(2);
        List<String> rows = new ArrayList<>();
        for (int part = 0; part < 2; part++) {
            int first = id + part * 20;
            work.execute(() -> {
                StringBuilder rowsOfPart = new StringBuilder();
                for (int i = 0; i < 20; i++) {
                    rowsOfPart.append(price(first + i)).append('\n');
                }
                synchronized (rows) {
                    rows.add(rowsOfPart.toString());
                }
                parts.countDown();
            });
        }
        Future<byte[]> digest = work.submit(() -> digest(id));
        CompletableFuture<Integer> length = CompletableFuture.supplyAsync(() -> price(id).length(), work);
        parts.await();
        connections.acquire();
        try {
            if (id % 16 == 0) {
                update(id);
            }
        } finally {
            connections.release();
        }
        audit.put("request " + id);
        int sum = length.get();
        for (byte one : digest.get()) {
            sum += one & 0xFF;
        }
        // The parts come in any order.
        for (String row : rows) {
            sum += row.length();
        }
        return "page " + id + ": " + rows.size() + " parts\n" + (sum > 0 ? "ok" : "empty");
    }

    private static byte[] digest(int id) throws Exception {
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        byte[] bytes = ("request " + id).getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < 20; i++) {
            bytes = digest.digest(bytes);
        }
        return bytes;
    }

    private void handle(HttpExchange exchange) throws IOException {
        byte[] body;
        try {
            body = page(Integer.parseInt(exchange.getRequestURI().getPath().substring(1))).getBytes(StandardCharsets.UTF_8);
        } catch (Exception failed) {
            throw new IOException(failed);
        }
        exchange.sendResponseHeaders(200, body.length);
        exchange.getResponseBody().write(body);
        exchange.close();
    }

    private static long client(int port, int from, int to) throws Exception {
        long sum = 0;
        for (int id = from; id < to; id++) {
            HttpURLConnection connection = (HttpURLConnection) new URL("http://127.0.0.1:" + port + "/" + id).openConnection();
            try (InputStream in = connection.getInputStream()) {
                for (byte one : in.readAllBytes()) {
                    sum += one;
                }
            }
        }
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        // Otherwise each response waits for a delayed acknowledgement, 40 ms.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        int all = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 40_000;
        Server server = new Server();
        HttpServer http = HttpServer.create(new InetSocketAddress(InetAddress.getByName("127.0.0.1"), 0), 0);
        http.createContext("/", server::handle);
        http.setExecutor(server.requests);
        http.start();
        Thread log = new Thread(() -> {
            try {
                while (!server.audit.take().isEmpty()) {}
            } catch (InterruptedException stopped) {
                Thread.currentThread().interrupt();
            }
        }, "audit");
        log.start();
        ExecutorService clients = Executors.newFixedThreadPool(CLIENTS);
        List<Future<Long>> sums = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            int from = all / CLIENTS * i;
            sums.add(clients.submit(() -> client(http.getAddress().getPort(), from, from + all / CLIENTS)));
        }
        long sum = 0;
        for (Future<Long> one : sums) {
            sum += one.get();
        }
        server.audit.put("");
        log.join();
        http.stop(0);
        clients.shutdown();
        server.requests.shutdown();
        server.work.shutdown();
        System.out.println(sum);
    }
}
