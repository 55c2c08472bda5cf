/** Prints that it runs, and waits in a method of its own until its input ends. */
public final class Sleeper {
    static int waitHere() throws Exception {
        System.out.println("running");
        return System.in.read();
    }

    public static void main(String[] args) throws Exception {
        waitHere();
        System.out.println("done");
    }
}
