package com.example.shop;

/** The work of a message. */
public final class Pay implements Runnable {
    private final long ms;

    public Pay(long ms) {
        this.ms = ms;
    }

    @Override
    public void run() {
        Store.onEvent(ms);
    }
}
