import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

/** Main reads a line, of a connection or of another program, which ends after seven seconds without one. */
public final class Reads {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("connection")) {
            connection();
        } else {
            program();
        }
    }

    private static void connection() throws Exception {
        InetAddress here = InetAddress.getLoopbackAddress();
        try (ServerSocket server = new ServerSocket(0, 1, here);
                Socket client = new Socket(here, server.getLocalPort());
                Socket silent = server.accept()) {
            new Thread(() -> end(silent), "silent").start();
            line(client.getInputStream());
        }
    }

    private static void end(Socket silent) {
        try (Socket ends = silent) {
            Thread.sleep(7_000);
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private static void program() throws Exception {
        line(new ProcessBuilder("sleep", "7").start().getInputStream());
    }

    private static void line(InputStream from) throws Exception {
        BufferedReader reader = new BufferedReader(new InputStreamReader(from));
        System.out.println(reader.readLine());
    }
}
