package com.example.stall;

import java.util.concurrent.CountDownLatch;

/** A message of main that stalls: it asks for a price while SyncWorker has the store's lock, or it just sleeps. */
public final class Checkout implements Runnable {
    private final PriceStore store = new PriceStore();
    private final long ms;
    private final boolean sleeps;

    public Checkout(long ms, boolean sleeps) {
        this.ms = ms;
        this.sleeps = sleeps;
    }

    @Override
    public void run() {
        if (sleeps) {
            store.refresh(ms);
        } else {
            pay();
        }
    }

    private void pay() {
        final CountDownLatch held = new CountDownLatch(1);
        Thread worker = new Thread(() -> store.sync(ms, held::countDown), "SyncWorker");
        worker.start();
        try {
            held.await();
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
        store.priceOf();
    }
}
