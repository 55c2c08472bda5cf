package com.example.sample;

import android.content.Intent;
import java.io.File;
import java.io.IOException;
import java.util.Arrays;
import java.util.Date;

/** What is on the device: recordings, and the reports that the listener got. */
public final class ReportsPage extends Page {
    @Override
    protected void onResume() {
        super.onResume();
        clear();
        fill();
    }

    @Override
    void fill() {
        // Where Context.getNoBackupFilesDir (Android 5) is.
        File[] recordings = recordings(new File(getApplicationInfo().dataDir, "no_backup"));
        text("Recordings: " + recordings.length);
        for (File recording : recordings) {
            text(recording.getName() + ", " + (recording.length() >> 10) + " KiB, " + new Date(recording.lastModified()));
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

    private static File[] recordings(File below) {
        File[] found = below.listFiles();
        if (found == null) {
            return new File[0];
        }
        File[] all = new File[0];
        for (File one : found) {
            File[] more = one.isDirectory() ? recordings(one)
                    : one.getName().endsWith(".anrscope") ? new File[] {one} : new File[0];
            File[] both = Arrays.copyOf(all, all.length + more.length);
            System.arraycopy(more, 0, both, all.length, more.length);
            all = both;
        }
        return all;
    }

    /** The report's first characters: its tag is among them. */
    private static String summary(String json) {
        return json.length() <= 120 ? json : json.substring(0, 120) + "...";
    }

    private void share(String json) {
        Intent text = new Intent(Intent.ACTION_SEND).setType("text/plain").putExtra(Intent.EXTRA_TEXT, json);
        startActivity(Intent.createChooser(text, "Report"));
    }
}
