package dev.anrscope;

/**
 * A call that breaks the recorder's promise on purpose: it needs more stack than its caller has near the brim, and allocates. The proof's control writes it
 * into the programs where an inserted call would stand, and must find what it does.
 */
public final class Inserted {
    private static volatile Object last;

    private Inserted() {}

    public static void call() {
        deeper(3, 1, 2, 3, 4, 5, 6);
        last = new byte[64];
    }

    private static long deeper(int levels, long a, long b, long c, long d, long e, long f) {
        return levels == 0 ? a + b + c + d + e + f : deeper(levels - 1, b, c, d, e, f, a) + 1;
    }
}
