package com.example.sample;

import android.os.Bundle;

/** A page that opens slowly. */
public final class EntryPage extends Page {
    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        Stalls.busy(600);
    }

    @Override
    protected void onResume() {
        super.onResume();
        Stalls.busy(300);
    }

    @Override
    void fill() {
        text("This page took 600 ms in onCreate and 300 ms in onResume: see its span in the trace.");
    }
}
