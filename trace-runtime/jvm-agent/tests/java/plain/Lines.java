package plain;

import java.io.BufferedReader;
import java.util.Arrays;

/** Answers each line with the stack of the answer, until a line says to leave. */
class Lines {
    static void serve(BufferedReader in) throws Exception {
        System.out.println("serving");
        for (String line = in.readLine(); !line.equals("leave"); line = in.readLine()) {
            System.out.println(where());
        }
        System.out.println("left");
    }

    static String where() {
        return Arrays.toString(new Exception().getStackTrace());
    }
}
