package com.example.shop;

/** A message's work. */
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
