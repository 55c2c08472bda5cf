package plain;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;

/** Runs the class plug.Work by loaders of several kinds; the argument is the directory of its class files. */
public class Loaders {
    /** Looks into its directory first. */
    static final class OwnFirst extends ClassLoader {
        private final Path directory;

        OwnFirst(Path directory) {
            this.directory = directory;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            synchronized (getClassLoadingLock(name)) {
                Class<?> known = findLoadedClass(name);
                if (known != null) {
                    return known;
                }
                return name.startsWith("plug.") ? define(this, directory, name) : super.loadClass(name, resolve);
            }
        }

        private static Class<?> define(OwnFirst by, Path directory, String name) throws ClassNotFoundException {
            byte[] bytes = read(directory, name);
            return by.defineClass(name, bytes, 0, bytes.length);
        }
    }

    /** Gives its parents the JDK's classes only, as loaders of OSGi do. */
    static final class Closed extends ClassLoader {
        private final Path directory;

        Closed(Path directory) {
            super(null);
            this.directory = directory;
        }

        @Override
        public Class<?> loadClass(String name) throws ClassNotFoundException {
            if (name.startsWith("java.")) {
                return super.loadClass(name);
            }
            if (!name.startsWith("plug.")) {
                throw new ClassNotFoundException(name);
            }
            Class<?> known = findLoadedClass(name);
            if (known != null) {
                return known;
            }
            byte[] bytes = read(directory, name);
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    static byte[] read(Path directory, String name) throws ClassNotFoundException {
        try {
            return Files.readAllBytes(directory.resolve(name.replace('.', '/') + ".class"));
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path directory = Path.of(arguments[0]);
        URL[] urls = {directory.toUri().toURL()};
        run(new URLClassLoader("parents first", urls, Loaders.class.getClassLoader()), "by its parents");
        run(new URLClassLoader("no parent", urls, null), "without a parent");
        run(new OwnFirst(directory), "own classes first");
        run(new Closed(directory), "closed");
    }

    private static void run(ClassLoader loader, String how) throws Exception {
        Class<?> work = Class.forName("plug.Work", true, loader);
        Thread thread = new Thread(() -> call(work, how), how);
        thread.start();
        thread.join();
    }

    private static void call(Class<?> work, String how) {
        try {
            System.out.println(work.getMethod("main", String.class).invoke(null, how));
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }
}
