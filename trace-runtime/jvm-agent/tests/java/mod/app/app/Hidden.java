package app;

import lib.Greeter;

public class Hidden {
    public static String call() {
        return Greeter.greet("hidden".toUpperCase());
    }
}
