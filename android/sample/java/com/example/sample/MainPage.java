package com.example.sample;

import android.app.Activity;
import android.content.Intent;

/** The first page: opens the others. */
public final class MainPage extends Page {
    @Override
    void fill() {
        open("Startup", StartupPage.class);
        open("FPS", FpsPage.class);
        open("Page entry", EntryPage.class);
        open("ANR", AnrPage.class);
        open("Slow methods", SlowPage.class);
        open("Reports on this device", ReportsPage.class);
    }

    private void open(String name, Class<? extends Activity> page) {
        button(name, () -> startActivity(new Intent(this, page)));
    }
}
