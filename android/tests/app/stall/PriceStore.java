package com.example.stall;

/** The lock that main waits for. */
public final class PriceStore {
    private final Object lock = new Object();

    /** Main asks for a price. */
    public int priceOf() {
        synchronized (lock) {
            return 7;
        }
    }

    /** Holds the lock for this many ms, from when {@code held} runs on. */
    public void sync(long ms, Runnable held) {
        synchronized (lock) {
            held.run();
            sleep(ms);
        }
    }

    /** Main waits for nothing but time. */
    public void refresh(long ms) {
        sleep(ms);
    }

    private static void sleep(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
    }
}
