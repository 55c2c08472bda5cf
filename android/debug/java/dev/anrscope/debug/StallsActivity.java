package dev.anrscope.debug;

import android.app.Activity;
import android.app.NotificationManager;
import android.content.ClipData;
import android.content.Context;
import android.content.Intent;
import android.net.Uri;
import android.os.Build;
import android.os.Bundle;
import android.view.View;
import android.webkit.WebView;
import android.widget.Button;
import android.widget.LinearLayout;
import android.widget.ScrollView;
import android.widget.TextView;
import dev.anrscope.export.Stall;
import java.io.File;
import java.io.IOException;
import java.text.DateFormat;
import java.util.Date;
import java.util.List;

/** The list of stalls, or the answer of one. Files are read on another thread than main. */
public final class StallsActivity extends Activity {
    private static final String SINCE = "dev.anrscope.debug.since";

    private LinearLayout column;

    /** Opens the answer of this stall. */
    static Intent of(Context context, Stall stall) {
        return new Intent(context, StallsActivity.class)
                // Each answer is a page of its own, which a PendingIntent tells apart by its data.
                .setData(Uri.parse("anrscope-stall:" + stall.sinceMs()))
                .putExtra(SINCE, stall.sinceMs())
                .addFlags(Intent.FLAG_ACTIVITY_NEW_TASK);
    }

    @Override
    protected void onCreate(Bundle state) {
        super.onCreate(state);
        column = new LinearLayout(this);
        column.setOrientation(LinearLayout.VERTICAL);
        // Android 15 draws behind the system's bars.
        column.setFitsSystemWindows(true);
        setContentView(column);
        if (!Stalls.isDebuggable(this)) {
            say("anrscope-debug does nothing in a build that is not debuggable.");
            return;
        }
        final long since = getIntent().getLongExtra(SINCE, 0);
        new Thread(
                        new Runnable() {
                            @Override
                            public void run() {
                                load(since);
                            }
                        },
                        "anrscope-stalls-page")
                .start();
    }

    /** Reads what is to be shown, then shows it on main. */
    private void load(long since) {
        StallStore store = StallStore.of(this);
        final List<Stall> all = store.all();
        for (final Stall stall : all) {
            if (stall.sinceMs() == since) {
                final String page = page(store, stall);
                final File trace = store.trace(stall);
                show(
                        new Runnable() {
                            @Override
                            public void run() {
                                answer(stall, page, trace);
                            }
                        });
                return;
            }
        }
        final boolean allowed =
                StallNotification.isAllowed((NotificationManager) getSystemService(Context.NOTIFICATION_SERVICE));
        show(
                new Runnable() {
                    @Override
                    public void run() {
                        list(all, allowed);
                    }
                });
    }

    private void show(final Runnable work) {
        runOnUiThread(
                new Runnable() {
                    @Override
                    public void run() {
                        if (!isFinishing()) {
                            work.run();
                        }
                    }
                });
    }

    /** Returns null if the system has cleared the cache. */
    private static String page(StallStore store, Stall stall) {
        try {
            return store.page(stall);
        } catch (IOException gone) {
            return null;
        }
    }

    private void list(List<Stall> all, boolean allowed) {
        setTitle("Stalls");
        if (!allowed) {
            say("Notifications are off for this app. Without them, stalls appear only here.");
            if (Build.VERSION.SDK_INT >= 26) {
                column.addView(
                        button(
                                "Notification settings",
                                new View.OnClickListener() {
                                    @Override
                                    public void onClick(View view) {
                                        start(settings());
                                    }
                                }));
            }
        }
        if (all.isEmpty()) {
            say("No stall yet. After main was blocked for a second or longer, the answer appears here.");
            return;
        }
        LinearLayout rows = new LinearLayout(this);
        rows.setOrientation(LinearLayout.VERTICAL);
        for (final Stall stall : all) {
            String time = DateFormat.getDateTimeInstance().format(new Date(stall.sinceMs()));
            rows.addView(
                    button(
                            time + "\n" + stall,
                            new View.OnClickListener() {
                                @Override
                                public void onClick(View view) {
                                    start(of(StallsActivity.this, stall));
                                }
                            }));
        }
        column.addView(scrolling(rows));
    }

    private void answer(Stall stall, String page, final File trace) {
        setTitle(stall.blocked());
        column.addView(
                button(
                        "Share the trace",
                        new View.OnClickListener() {
                            @Override
                            public void onClick(View view) {
                                start(share(trace));
                            }
                        }));
        WebView shown = page == null ? null : AnswerView.of(this, page);
        if (shown != null) {
            column.addView(shown);
            return;
        }
        TextView text = new TextView(this);
        text.setText(stall + "\n\n" + stall.text());
        text.setTextIsSelectable(true);
        column.addView(scrolling(text));
    }

    private View scrolling(View content) {
        ScrollView scroll = new ScrollView(this);
        scroll.addView(content);
        return scroll;
    }

    private void say(String text) {
        TextView view = new TextView(this);
        view.setText(text);
        column.addView(view);
    }

    private Button button(String text, View.OnClickListener clicked) {
        Button button = new Button(this);
        button.setText(text);
        button.setAllCaps(false);
        button.setOnClickListener(clicked);
        return button;
    }

    /** The chosen app may read this trace, and no other. */
    private Intent share(File trace) {
        Uri uri = StallsProvider.uri(this, trace);
        Intent send = new Intent(Intent.ACTION_SEND).setType("application/octet-stream").putExtra(Intent.EXTRA_STREAM, uri);
        send.setClipData(ClipData.newRawUri(null, uri));
        send.addFlags(Intent.FLAG_GRANT_READ_URI_PERMISSION);
        return Intent.createChooser(send, "Share the trace");
    }

    /** The system's page of this app's notifications, API 26 ({@code Settings.ACTION_APP_NOTIFICATION_SETTINGS}). */
    private Intent settings() {
        return new Intent("android.settings.APP_NOTIFICATION_SETTINGS")
                .putExtra("android.provider.extra.APP_PACKAGE", getPackageName());
    }

    private void start(Intent intent) {
        try {
            startActivity(intent);
        } catch (RuntimeException none) {
            say("No app on this device can do that.");
        }
    }
}
