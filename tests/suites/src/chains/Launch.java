package chains;

import java.lang.reflect.Method;

/**
 * Starts a program once it is told to by a byte on stdin, so that {@code anrscope attach} records it from its first call on. Prints
 * its pid when it is ready.
 */
public final class Launch {
    private Launch() {}

    public static void main(String[] arguments) throws Exception {
        System.out.println("pid " + ProcessHandle.current().pid());
        System.in.read();
        Method main = Class.forName(arguments[0]).getMethod("main", String[].class);
        main.invoke(null, (Object) new String[0]);
    }
}
