package com.example.sample;

import android.content.Intent;
import android.os.Process;
import java.io.IOException;

/** Starts of each kind. */
public final class StartupPage extends Page {
    @Override
    void fill() {
        text("Cold: end the process, then open the app from the launcher.");
        button("End the process", () -> Process.killProcess(Process.myPid()));
        button("End it, and delay the next start by 2.5 s", this::endAndBeSlow);
        text("Warm: all pages are closed, the process stays. Open the app from the launcher.");
        button("Close all pages", this::finishAffinity);
        text("Hot: press Home, and come back.");
        button("Home", () -> startActivity(
                new Intent(Intent.ACTION_MAIN).addCategory(Intent.CATEGORY_HOME).setFlags(Intent.FLAG_ACTIVITY_NEW_TASK)));
        text("Relaunch: the page is created again.");
        button("Recreate this page", this::recreate);
    }

    private void endAndBeSlow() {
        try {
            SlowStart.wish(this);
        } catch (IOException full) {
            text("Cannot store the request: " + full);
            return;
        }
        Process.killProcess(Process.myPid());
    }
}
