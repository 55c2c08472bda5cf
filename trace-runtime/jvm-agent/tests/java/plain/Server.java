package plain;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.List;

/** Answers each line of its input on one of two threads, until the input ends. */
public class Server {
    static List<Runnable> many;

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.startsWith("worker ")) {
                String text = line;
                Thread worker = new Thread(() -> answer(text), "worker");
                worker.start();
                worker.join();
            } else if (line.equals("spin")) {
                Thread thread = new Thread(new Spin(), "spin");
                thread.setDaemon(true);
                thread.start();
                answer(line);
            } else if (line.startsWith("define ")) {
                many = ManyLoaders.define(Integer.parseInt(line.substring("define ".length())));
                System.out.println("defined");
            } else if (line.equals("run")) {
                many.forEach(Runnable::run);
                System.out.println("run");
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

    /** Computes until the program ends. */
    static class Spin implements Runnable {
        static volatile long sum;

        @Override
        public void run() {
            while (true) {
                sum = step(sum);
            }
        }

        static long step(long before) {
            return before * 31 + 7;
        }
    }

    /** Loaded while the program is recorded. */
    static class Later {
        static synchronized String of(String line) {
            return line.concat(" is now");
        }
    }
}
