package com.example.sample;

import dev.anrscope.Anrscope;

/** Stalls that are long enough for an ANR: touch the screen while one runs. */
public final class AnrPage extends StallPage {
    @Override
    long millis() {
        return 12_000;
    }

    @Override
    void fill() {
        text("Each takes 12 s. The system asks about it 5 s after a touch that nobody takes.");
        super.fill();
        button("A dead-lock (ends with the process)", marked("deadlock", Stalls::deadlock));
        button("SIGQUIT to this process", marked("sigquit", StallPage::quit));
        button("A dump that anrscope asks for", marked("dump", Anrscope::dump));
    }
}
