import dev.anrscope.MethodBeat;

/** Calls as tracing inserts them. */
final class Inserted {
    private Inserted() {}

    static void ends() {
        MethodBeat.i(1);
        MethodBeat.o(1);
    }

    static int covered(Object lock, int kind) {
        try {
            MethodBeat.wb(kind, lock);
        } catch (StackOverflowError | OutOfMemoryError lost) {
            // Dropped.
        }
        return lock.hashCode() + kind;
    }

    static void bare(Object lock) {
        MethodBeat.we(1, lock);
    }

    static void caughtByTheApp(Object lock) {
        try {
            MethodBeat.wr(lock);
        } catch (Throwable all) {
            all.printStackTrace();
        }
    }

    static void losesTheErrorsOfTheApp(Object lock) {
        try {
            MethodBeat.wr(lock);
        } catch (VirtualMachineError lost) {
            // Dropped.
        }
    }

    static int continuesElsewhere(Object lock) {
        try {
            MethodBeat.wt(true, lock);
        } catch (StackOverflowError | OutOfMemoryError lost) {
            return 1;
        }
        return lock.hashCode();
    }
}
