package com.example.shop;

import android.os.MessageQueue;

/** An idle handler that is late once. */
public final class Preload implements MessageQueue.IdleHandler {
    private final long ms;

    public Preload(long ms) {
        this.ms = ms;
    }

    @Override
    public boolean queueIdle() {
        Store.onEvent(ms);
        return false;
    }
}
