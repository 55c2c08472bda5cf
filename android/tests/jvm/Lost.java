import dev.anrscope.MethodBeat;

/** Loses the ends of calls, as the handlers of instrumented code do where the stack has overflowed: {@code Lost NUMBER}. */
public final class Lost {
    private static void lose(int id) {
        MethodBeat.LOST_ENDS[MethodBeat.lost & MethodBeat.LOST_ENDS.length - 1] = id;
        MethodBeat.lost++;
    }

    public static void main(String[] arguments) {
        MethodBeat.i(1);
        MethodBeat.i(2);
        // The end of 2, and then those of calls whose enters were lost as well.
        lose(2);
        for (int id = 10; id < 9 + Integer.parseInt(arguments[0]); id++) {
            lose(id);
        }
        MethodBeat.i(3);
        MethodBeat.o(3);
        MethodBeat.o(1);
    }
}
