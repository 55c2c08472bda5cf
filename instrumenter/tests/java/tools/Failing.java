package tools;

/** A runtime of which each call fails; prints what a method returns. */
public class Failing {
    public static void i(int id) {
        throw new StackOverflowError();
    }

    public static void o(int id) {
        throw new OutOfMemoryError();
    }

    public static void main(String[] arguments) throws Exception {
        System.out.println(Class.forName(arguments[0]).getMethod(arguments[1]).invoke(null));
    }
}
