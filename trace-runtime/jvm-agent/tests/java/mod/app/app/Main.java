package app;

import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Proxy;
import java.util.function.Supplier;
import lib.Greeter;

/** A record, a lambda, a proxy and a hidden class in a named module. */
public class Main {
    record Point(int x, int y) {
        double length() {
            return Double.parseDouble(Integer.toString(x * x + y * y));
        }
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println(Main.class.getModule() + " " + Greeter.class.getModule());
        Supplier<String> lambda = () -> Greeter.greet(new Point(3, 4).length());
        System.out.println(lambda.get());
        Runnable proxy = (Runnable) Proxy.newProxyInstance(
                Main.class.getClassLoader(), new Class<?>[] {Runnable.class}, (self, method, values) -> {
                    System.out.println(Greeter.greet(method.getName()));
                    return null;
                });
        proxy.run();
        byte[] bytes;
        try (InputStream in = Main.class.getResourceAsStream("Hidden.class")) {
            bytes = in.readAllBytes();
        }
        Class<?> hidden = MethodHandles.lookup().defineHiddenClass(bytes, true).lookupClass();
        System.out.println(hidden.isHidden() + " " + hidden.getMethod("call").invoke(null));
    }
}
