package tools;

import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/** Loads and links every class of a jar, and prints each that fails, with the error. */
public final class VerifyAll {
    public static void main(String[] arguments) throws Exception {
        File file = new File(arguments[0]);
        URL[] path = {file.toURI().toURL()};
        Map<String, String> failures = new TreeMap<>();
        int linked = 0;
        try (JarFile jar = new JarFile(file); URLClassLoader loader = new URLClassLoader(path)) {
            for (JarEntry entry : Collections.list(jar.entries())) {
                String name = entry.getName();
                if (!name.endsWith(".class") || name.startsWith("META-INF/") || name.endsWith("module-info.class")) {
                    continue;
                }
                name = name.substring(0, name.length() - 6).replace('/', '.');
                try {
                    // Asking for the constructors links the class, and linking verifies it.
                    Class.forName(name, false, loader).getDeclaredConstructors();
                    linked++;
                } catch (LinkageError failed) {
                    String message = String.valueOf(failed.getMessage()).split("\n")[0];
                    failures.put(name, failed.getClass().getSimpleName() + ": " + message);
                }
            }
        }
        System.out.println("linked " + linked);
        failures.forEach((name, why) -> System.out.println(name + " " + why));
    }
}
