package com.example.sample;

import android.app.Application;
import dev.anrscope.Anrscope;
import dev.anrscope.Config;
import java.io.File;

/** Installs anrscope, and stores its reports. */
public final class SampleApp extends Application {
    @Override
    public void onCreate() {
        super.onCreate();
        Anrscope.install(this, new Config.Builder().build());
        Anrscope.setListener(new ReportStore(new File(getFilesDir(), "reports"))::keep);
        long slow = SlowStart.next(this);
        if (slow > 0) {
            Anrscope.mark("a start that was requested to be slow");
            Stalls.busy(slow);
        }
    }
}
