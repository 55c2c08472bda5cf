package plain;

import java.io.IOException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;

/** Runs the class plug.Work by loaders of several kinds; the argument is the directory of its class files. */
public class Loaders {
    /** Looks into its directory first. */
    static class OwnFirst extends ClassLoader {
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

    /** Defines a class of its own when it is asked for one that is not. */
    static final class Eager extends OwnFirst {
        Eager(Path directory) {
            super(directory);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("plug.") && !name.startsWith("java.")) {
                super.loadClass("plug.Work$Base", false);
            }
            return super.loadClass(name, resolve);
        }
    }

    /** Gives its parents the JDK's classes and those of some packages only, as loaders of OSGi do. */
    static final class Closed extends ClassLoader {
        private final Path directory;
        private final String imported;

        Closed(Path directory, String imported) {
            super(null);
            this.directory = directory;
            this.imported = imported;
        }

        @Override
        public Class<?> loadClass(String name) throws ClassNotFoundException {
            if (name.startsWith("java.") || name.startsWith(imported)) {
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
        run(new Eager(directory), "own classes first, eager");
        run(new Closed(directory, "dev."), "open");
        run(new Closed(directory, "com."), "closed");
        run(new Closed(directory, "dev."), "open again");
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
