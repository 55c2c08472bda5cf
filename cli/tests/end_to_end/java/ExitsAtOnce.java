/** Main ends the program at once. */
public final class ExitsAtOnce {
    public static void main(String[] arguments) {
        System.exit(0);
    }
}
