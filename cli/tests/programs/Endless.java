/** Works until it is ended. */
public class Endless {
    public static void main(String[] arguments) throws InterruptedException {
        while (true) {
            Busy.slow();
        }
    }
}
