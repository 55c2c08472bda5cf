package plain;

import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/** Runs plug.Uses of the jar that its argument names. */
public class Plugin {
    public static void main(String[] arguments) throws Exception {
        URL[] urls = {Path.of(arguments[0]).toUri().toURL()};
        Class<?> uses = new URLClassLoader(urls, null).loadClass("plug.Uses");
        uses.getMethod("main", String[].class).invoke(null, (Object) new String[0]);
    }
}
