/** In another jar than the program. */
public class Greeter {
    public static String greet(String name) {
        return "hello " + name.trim();
    }
}
