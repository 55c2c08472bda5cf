package plain;

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;

/** Uses many classes of the JDK, from several threads. */
public class UsesJdk {
    public static void main(String[] arguments) throws Exception {
        pool();
        collections();
        files();
        sockets();
    }

    private static int digits(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += Integer.toString(i).length();
        }
        return sum;
    }

    private static void pool() throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Integer>> all = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            int n = i;
            all.add(pool.submit(() -> digits(n)));
        }
        LinkedBlockingQueue<Integer> queue = new LinkedBlockingQueue<>(2);
        pool.submit(() -> {
            for (int i = 0; i < 50; i++) {
                queue.put(i);
            }
            return null;
        });
        long sum = 0;
        for (int i = 0; i < 50; i++) {
            sum += queue.take();
        }
        for (Future<Integer> one : all) {
            sum += one.get();
        }
        pool.shutdown();
        System.out.println(pool.awaitTermination(10, TimeUnit.SECONDS) + " " + sum);
        System.out.println(CompletableFuture.supplyAsync(() -> digits(1000)).thenApply(n -> n + 1).get());
        System.out.println(Arrays.asList(3, 1, 2).parallelStream().mapToInt(n -> 2 * n).sum());
    }

    private static void collections() {
        Map<String, Integer> counts = new ConcurrentHashMap<>();
        Map<Integer, List<String>> lists = new HashMap<>();
        for (int i = 0; i < 1000; i++) {
            counts.merge("key " + i % 100, 1, Integer::sum);
            lists.computeIfAbsent(i % 10, key -> new ArrayList<>()).add("value " + i);
        }
        System.out.println(new TreeMap<>(counts).firstEntry() + " " + lists.get(3).size());
        try {
            Collections.emptyList().iterator().next();
        } catch (NoSuchElementException expected) {
            System.out.println("none");
        }
        Matcher matcher = Pattern.compile("(a+)(b*)c").matcher("aabbcxaacabc");
        int found = 0;
        while (matcher.find()) {
            found++;
        }
        System.out.println(found);
    }

    private static void files() throws Exception {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        try (GZIPOutputStream zip = new GZIPOutputStream(out)) {
            for (int i = 0; i < 1000; i++) {
                zip.write(("line " + i + "\n").getBytes("UTF-8"));
            }
        }
        GZIPInputStream zip = new GZIPInputStream(new ByteArrayInputStream(out.toByteArray()));
        try (BufferedReader reader = new BufferedReader(new InputStreamReader(zip))) {
            System.out.println(reader.lines().count());
        }
        Path file = Files.createTempFile("anrscope", "jdk");
        Files.write(file, Collections.singleton("text"));
        System.out.println(Files.readAllLines(file));
        Files.delete(file);
        ByteArrayOutputStream objects = new ByteArrayOutputStream();
        new ObjectOutputStream(objects).writeObject(new ArrayList<>(Arrays.asList("one", new Date(0))));
        Object read = new ObjectInputStream(new ByteArrayInputStream(objects.toByteArray())).readObject();
        System.out.println(((List<?>) read).size());
    }

    private static void sockets() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            Thread answers = new Thread(() -> {
                try (Socket client = server.accept()) {
                    client.getOutputStream().write(client.getInputStream().read() + 1);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            }, "answers");
            answers.start();
            try (Socket socket = new Socket(server.getInetAddress(), server.getLocalPort())) {
                socket.getOutputStream().write(41);
                System.out.println(socket.getInputStream().read());
            }
            answers.join();
        }
    }
}
