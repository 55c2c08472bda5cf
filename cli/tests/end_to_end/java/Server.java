import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;

/** A server with two worker threads. Its own client makes twenty requests that are answered at once and two that wait. */
public final class Server {
    private static final AtomicInteger ANSWERED = new AtomicInteger();

    static void handle(HttpExchange exchange) throws IOException {
        byte[] text = answer(exchange.getRequestURI().getPath()).getBytes();
        exchange.sendResponseHeaders(200, text.length);
        exchange.getResponseBody().write(text);
        exchange.close();
    }

    static String answer(String path) {
        ANSWERED.incrementAndGet();
        return path.equals("/slow") ? query() : "at once";
    }

    static String query() {
        try {
            Thread.sleep(700);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
        return "late";
    }

    static void get(int port, String path) throws IOException {
        HttpURLConnection connection = (HttpURLConnection) URI.create("http://127.0.0.1:" + port + path).toURL().openConnection();
        if (connection.getResponseCode() != 200) {
            throw new IOException(path);
        }
        connection.getInputStream().readAllBytes();
    }

    public static void main(String[] arguments) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        AtomicInteger number = new AtomicInteger();
        var workers = Executors.newFixedThreadPool(2, work -> new Thread(work, "http-exec-" + number.incrementAndGet()));
        server.setExecutor(workers);
        server.createContext("/", Server::handle);
        server.start();
        int port = server.getAddress().getPort();
        for (int n = 0; n < 20; n++) {
            get(port, "/fast");
            if (n % 10 == 5) {
                get(port, "/slow");
            }
        }
        server.stop(0);
        workers.shutdown();
        System.out.println(ANSWERED);
    }
}
