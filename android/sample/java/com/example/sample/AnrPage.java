package com.example.sample;

import dev.anrscope.Anrscope;

/** Stalls long enough for an ANR: touch the screen while one runs. */
public final class AnrPage extends StallPage {
    @Override
    long millis() {
        return 12_000;
    }

    @Override
    void fill() {
        text("Each takes 12 s. The system reports an ANR 5 s after a touch that is not handled.");
        super.fill();
        button("A deadlock (until the process ends)", marked("deadlock", Stalls::deadlock));
        button("SIGQUIT to this process", marked("sigquit", StallPage::quit));
        button("A dump that anrscope requests", marked("dump", Anrscope::dump));
    }
}
