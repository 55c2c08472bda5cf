package plain;

import java.io.BufferedReader;
import java.io.InputStreamReader;

/** Answers each line of its input on one of two threads, until the input ends. */
public class Server {
    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.startsWith("worker ")) {
                String text = line;
                Thread worker = new Thread(() -> answer(text), "worker");
                worker.start();
                worker.join();
            } else if (line.equals("hold")) {
                hold(in);
            } else {
                answer(line);
            }
        }
    }

    /** A call that lasts until the next line. */
    static void hold(BufferedReader in) throws Exception {
        System.out.println("holding");
        System.out.println(of(in.readLine()));
    }

    static void answer(String line) {
        System.out.println(line.equals("later") ? Later.of(line) : of(line));
    }

    static synchronized String of(String line) {
        return new StringBuilder(line).reverse().toString();
    }

    /** Loaded while the program is recorded. */
    static class Later {
        static synchronized String of(String line) {
            return line.concat(" is now");
        }
    }
}
