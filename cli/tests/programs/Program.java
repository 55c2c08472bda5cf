import java.io.InputStream;
import java.util.Arrays;
import java.util.Scanner;

/** Exercises features whose results are visible from outside. */
public class Program {
    public static void main(String[] arguments) throws Exception {
        System.out.println("arguments " + Arrays.toString(arguments));
        System.err.println("to the other stream");
        System.out.println(Greeter.greet("main"));
        InputStream resource = Program.class.getResourceAsStream("/resource.txt");
        System.out.println(resource == null ? "no resource" : new Scanner(resource, "UTF-8").nextLine());
        threads();
        try {
            fall(10);
        } catch (IllegalStateException e) {
            System.out.println("caught " + e.getMessage() + " in " + e.getStackTrace()[0].getMethodName());
        }
        for (String argument : arguments) {
            switch (argument) {
                case "exit":
                    System.exit(7);
                case "throw":
                    fall(2);
                case "read":
                    System.out.println("read " + new Scanner(System.in, "UTF-8").nextLine());
                    break;
                case "wait":
                    await();
                    break;
                case "fork":
                    fork();
                    break;
                default:
            }
        }
    }

    /** A chain of calls that ends in an exception. */
    static int fall(int depth) {
        if (depth == 0) {
            throw new IllegalStateException("the floor");
        }
        return fall(depth - 1) + 1;
    }

    static void threads() throws InterruptedException {
        Thread[] threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
            String name = "worker-" + i;
            threads[i] = new Thread(() -> work(name), name);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    static void work(String name) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 100; i++) {
            text.append(Greeter.greet(name)).append(i);
        }
        if (text.length() == 0) {
            System.out.println("nothing was done");
        }
    }

    /** Runs until a signal. */
    static void await() throws Exception {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("shut down")));
        System.out.println("ready");
        System.out.flush();
        Thread.sleep(60_000);
    }

    /** Starts a JVM on the same class path, without the options of this one. */
    static void fork() throws Exception {
        String java = System.getProperty("java.home") + "/bin/java";
        Process process = new ProcessBuilder(java, "-cp", System.getProperty("java.class.path"), "Program", "child")
                .inheritIO()
                .start();
        System.out.println("child ended with " + process.waitFor());
    }
}
