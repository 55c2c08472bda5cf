import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

/** The JDK's own HTTP server with a pool. */
public final class IdleJdk {
    static void page(HttpExchange exchange) throws IOException {
        byte[] text = "page".getBytes();
        exchange.sendResponseHeaders(200, text.length);
        exchange.getResponseBody().write(text);
        exchange.close();
    }

    public static void main(String[] words) throws IOException {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", 0), 0);
        server.createContext("/", IdleJdk::page);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.start();
        System.out.println("port " + server.getAddress().getPort());
    }
}
