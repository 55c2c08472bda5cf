package com.example.sample;

import android.content.Intent;
import dev.anrscope.Anrscope;
import java.io.File;
import java.io.IOException;
import java.util.Date;

/** Lists the recordings, whose traces can be shared, and the reports that the listener received. */
public final class ReportsPage extends Page {
    @Override
    protected void onResume() {
        super.onResume();
        clear();
        fill();
    }

    @Override
    void fill() {
        File[] recordings = Anrscope.recordings(this);
        text("Recordings: " + recordings.length);
        for (File recording : recordings) {
            text(recording.getName() + ", " + (recording.length() >> 10) + " KiB, " + new Date(recording.lastModified()));
            button("Share its trace", () -> export(recording));
        }
        File[] reports = new ReportStore(new File(getFilesDir(), "reports")).all();
        text("Reports: " + reports.length);
        for (File report : reports) {
            try {
                String json = ReportStore.read(report);
                button(summary(json) + "\n" + new Date(report.lastModified()), () -> share(json));
            } catch (IOException gone) {
                text(report.getName() + ": " + gone);
            }
        }
    }

    /** Exports the trace, which takes a moment, and offers it to other apps. */
    private void export(File recording) {
        Thread thread = new Thread(
                () -> {
                    File trace = TraceProvider.place(this, recording.getName().replace(".anrscope", ".pftrace"));
                    try {
                        Anrscope.exportTrace(recording, trace);
                        runOnUiThread(() -> share(trace));
                    } catch (IOException why) {
                        runOnUiThread(() -> text(why.getMessage()));
                    }
                },
                "export");
        thread.start();
    }

    private void share(File trace) {
        Intent file = new Intent(Intent.ACTION_SEND).setType("application/octet-stream");
        file.putExtra(Intent.EXTRA_STREAM, TraceProvider.uri(this, trace)).addFlags(Intent.FLAG_GRANT_READ_URI_PERMISSION);
        startActivity(Intent.createChooser(file, "Trace"));
    }

    /** The report's first characters, which include its tag. */
    private static String summary(String json) {
        return json.length() <= 120 ? json : json.substring(0, 120) + "...";
    }

    private void share(String json) {
        Intent text = new Intent(Intent.ACTION_SEND).setType("text/plain").putExtra(Intent.EXTRA_TEXT, json);
        startActivity(Intent.createChooser(text, "Report"));
    }
}
