import java.util.ArrayList;
import java.util.List;

/**
 * Repeatedly throws ten calls deep and catches at the top. Logs four times per call, independently of the recorder:
 * before the call, inside at entry, inside at exit, after the call. Nanoseconds of System.nanoTime.
 */
public final class DeepThrow {
    private static final int DEPTH = 10;
    private static final long[][] NOTES = new long[DEPTH * 100][4];
    private static int calls;

    static void deep(int depth) {
        long[] note = NOTES[calls - 1];
        note[1] = System.nanoTime();
        try {
            if (depth == 1) {
                throw new IllegalStateException("thrown at the bottom");
            }
            call(depth - 1);
        } finally {
            note[2] = System.nanoTime();
        }
    }

    static void call(int depth) {
        long[] note = NOTES[calls++];
        note[0] = System.nanoTime();
        try {
            deep(depth);
        } finally {
            note[3] = System.nanoTime();
        }
    }

    static boolean caught() {
        try {
            call(DEPTH);
            return false;
        } catch (IllegalStateException expected) {
            return true;
        }
    }

    public static void main(String[] args) {
        int caught = 0;
        while (calls < NOTES.length) {
            if (caught()) {
                caught++;
            }
        }
        List<String> lines = new ArrayList<>();
        for (long[] note : NOTES) {
            lines.add(note[0] + " " + note[1] + " " + note[2] + " " + note[3]);
        }
        System.out.println(String.join("\n", lines));
        System.exit(caught == NOTES.length / DEPTH ? 0 : 1);
    }
}
