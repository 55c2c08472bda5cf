package plain;

import java.util.ArrayList;
import java.util.List;

/** Prints what a program can see of how it was started and loaded, and works on two threads. */
public class Identity {
    public static void main(String[] arguments) throws Exception {
        System.out.println("arguments " + List.of(arguments));
        System.out.println("class path " + System.getProperty("java.class.path"));
        System.out.println("from " + Identity.class.getProtectionDomain().getCodeSource().getLocation());
        Object[] signers = Identity.class.getSigners();
        System.out.println("signers " + (signers == null ? 0 : signers.length));
        List<String> properties = new ArrayList<>();
        for (String name : System.getProperties().stringPropertyNames()) {
            if (name.startsWith("anrscope.")) {
                properties.add(name);
            }
        }
        System.out.println("properties " + properties);
        Thread worker = new Thread(() -> System.out.println("worked " + work(20)), "worker");
        worker.start();
        worker.join();
        System.out.println("main worked " + work(10));
        if (arguments.length > 0 && arguments[0].equals("kill")) {
            Runtime.getRuntime().halt(7);
        }
        System.exit(arguments.length);
    }

    static long work(int depth) {
        return depth < 2 ? depth : work(depth - 1) + locked(depth);
    }

    static synchronized long locked(int depth) {
        return Integer.toString(depth).length();
    }
}
