package plain;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/** Defines one class by many loaders, as compilers of dynamic languages do: a new loader for each class. */
public class ManyLoaders {
    static final class Loader extends ClassLoader {
        private final byte[] each;

        Loader(byte[] each) {
            super(ManyLoaders.class.getClassLoader());
            this.each = each;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("plain.ManyLoaders$Each")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            return known != null ? known : defineClass(name, each, 0, each.length);
        }
    }

    /** Adds what it is given to the sum. */
    public static class Each implements Runnable {
        static synchronized void of(int number) {
            sum += number;
        }

        @Override
        public void run() {
            of(++calls);
        }
    }

    public static int calls;
    public static int sum;

    /** Objects of as many classes. */
    static List<Runnable> define(int count) throws Exception {
        byte[] each = bytes();
        List<Runnable> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Class<?> defined = new Loader(each).loadClass("plain.ManyLoaders$Each");
            all.add((Runnable) defined.getConstructor().newInstance());
        }
        return all;
    }

    private static byte[] bytes() throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        try (InputStream in = ManyLoaders.class.getResourceAsStream("ManyLoaders$Each.class")) {
            for (int next = in.read(); next >= 0; next = in.read()) {
                all.write(next);
            }
        }
        return all.toByteArray();
    }

    public static void main(String[] arguments) throws Exception {
        define(Integer.parseInt(arguments[0])).forEach(Runnable::run);
        System.out.println(sum);
    }
}
