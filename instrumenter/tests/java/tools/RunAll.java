package tools;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;

/** Runs {@code P0.run} to {@code P(n-1).run} with some numbers, and prints what each returns or throws. */
public final class RunAll {
    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[0]);
        for (int c = 0; c < count; c++) {
            Method run = Class.forName("P" + c).getMethod("run", int.class, long.class, Object.class);
            StringBuilder line = new StringBuilder("P" + c);
            for (int n = -1; n < 5; n++) {
                Object lock = n == 2 ? null : new StringBuilder("lock");
                try {
                    line.append(' ').append(run.invoke(null, n, n * 0x1_0000_0003L, lock));
                } catch (InvocationTargetException thrown) {
                    line.append(' ').append(thrown.getCause().getClass().getSimpleName());
                }
                if (lock != null && Thread.holdsLock(lock)) {
                    line.append(" still locked");
                }
            }
            System.out.println(line);
        }
    }
}
