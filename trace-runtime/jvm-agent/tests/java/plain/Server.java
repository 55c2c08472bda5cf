package plain;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.List;

/** Has each line of its input answered on one of two threads, until the input ends. Its own class always has a frame. */
public class Server {
    static List<Runnable> many;

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            if (line.startsWith("worker ")) {
                String text = line;
                Thread worker = new Thread(() -> Answers.answer(text), "worker");
                worker.start();
                worker.join();
            } else if (line.equals("spin")) {
                Thread thread = new Thread(new Spin(), "spin");
                thread.setDaemon(true);
                thread.start();
                Answers.answer(line);
            } else if (line.startsWith("define ")) {
                many = ManyLoaders.define(Integer.parseInt(line.substring("define ".length())));
                System.out.println("defined");
            } else if (line.equals("run")) {
                many.forEach(Runnable::run);
                System.out.println("run");
            } else if (line.equals("hold")) {
                Answers.hold(in);
            } else if (line.startsWith("wait ")) {
                Contended.wait(line);
            } else if (line.equals("lines")) {
                Lines.serve(in);
            } else {
                Answers.answer(line);
            }
        }
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
}
