import dev.anrscope.MethodBeat;

/** Requests its own thread dump, waits two seconds, and prints whether the request succeeded. */
public final class OwnDump {
    public static void main(String[] args) throws Exception {
        boolean asked = MethodBeat.dump();
        Thread.sleep(2_000);
        System.out.println("asked: " + asked);
    }
}
