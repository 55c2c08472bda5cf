import java.io.File;
import java.net.URL;
import java.net.URLClassLoader;

/** Opens a jar that is on no class path, as a program with plug-ins does. */
public class Loader {
    public static void main(String[] arguments) throws Exception {
        URL[] urls = {new File(arguments[0]).toURI().toURL()};
        try (URLClassLoader loader = new URLClassLoader(urls, Loader.class.getClassLoader())) {
            Class<?> greeter = loader.loadClass("Greeter");
            System.out.println(greeter.getMethod("greet", String.class).invoke(null, "plug-in"));
        }
        System.out.println(Loader.class.getSigners() == null ? "not signed" : "signed");
    }
}
