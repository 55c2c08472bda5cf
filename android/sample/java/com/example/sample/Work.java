package com.example.sample;

/** A computation in nested calls, so that its trace has a shape. */
public final class Work {
    /** Keeps the result, so that no compiler removes the work. */
    private static volatile long kept;

    private Work() {}

    /** Computes for this long. */
    public static void compute(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        long sum = 1;
        do {
            sum = basket(sum);
        } while (System.nanoTime() < end);
        kept = sum;
    }

    private static long basket(long seed) {
        long sum = seed;
        for (int item = 0; item < 8; item++) {
            sum = price(sum + item);
        }
        return sum;
    }

    private static long price(long seed) {
        return discount(seed) ^ tax(seed);
    }

    private static long discount(long seed) {
        long value = seed;
        for (int round = 0; round < 400; round++) {
            value = value * 6364136223846793005L + 1442695040888963407L;
        }
        return value;
    }

    private static long tax(long seed) {
        long value = seed;
        for (int round = 0; round < 200; round++) {
            value ^= value << 13;
            value ^= value >>> 7;
            value ^= value << 17;
        }
        return value;
    }
}
