package lib;

public class Greeter {
    public static String greet(Object whom) {
        return join("hello", String.valueOf(whom));
    }

    private static String join(String one, String other) {
        return one.concat(" ").concat(other);
    }
}
