import dev.anrscope.MethodBeat;

/** Asks for its own thread dump, gives it two seconds, and says whether it could ask. */
public final class OwnDump {
    public static void main(String[] args) throws Exception {
        boolean asked = MethodBeat.dump();
        Thread.sleep(2_000);
        System.out.println("asked: " + asked);
    }
}
