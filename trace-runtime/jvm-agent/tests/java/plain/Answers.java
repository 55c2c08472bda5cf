package plain;

import java.io.BufferedReader;

/** The answers of the server. */
class Answers {
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
