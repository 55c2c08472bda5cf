package dev.anrscope;

import android.content.Context;
import android.content.pm.ApplicationInfo;
import android.content.pm.PackageInfo;
import android.content.pm.PackageManager;
import android.os.Build;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.util.Log;
import java.io.File;

/**
 * The order in which things are started.
 *
 * <pre>
 * main:             a look whether the app was disarmed, and one whether it was switched off; options; the monitors
 * anrscope-install: folder, the manifest's options, whether it may start at all, the recording's place, the provider's
 *                   options, old recordings, what became of earlier processes
 * </pre>
 *
 * What the thread finds comes a few milliseconds after main has begun to watch, so that the process's first message is seen.
 */
final class Install implements Runnable {
    private static final String PREFIX = "anrscope.";

    private static Install only;

    private final Context context;
    private boolean armed;
    /** Nothing is recorded, because somebody said so. */
    private volatile boolean off;
    private volatile boolean refused;
    /** Bad starts have disarmed this version; see crash_loop.rs. */
    private static volatile boolean disarmed;
    private Thread running;
    /** The provider is to be asked. */
    private boolean again;
    private volatile boolean placed;
    /** The manifest has had its say. */
    private boolean said;
    /** A fault was reported. */
    private boolean faulty;
    /** Of the recordings. */
    private volatile String folder;

    private Install(Context context) {
        this.context = context;
    }

    /** On main. */
    static synchronized void onMain(Context context, Config config) {
        if (!MethodBeat.isRecording()) {
            return;
        }
        Anrscope.takeAll(config.values(), true);
        Anrscope.provider(config.provider());
        if (only != null) {
            inLine();
            only.begin();
            return;
        }
        only = new Install(context);
        Threads.later();
        try {
            String marks = Folders.marks(context);
            if (Natives.isOff(marks)) {
                Anrscope.take("recording", "0", false);
            }
            if (Natives.number("recording") == 0) {
                only.off = true;
                MethodBeat.pause();
            } else if (!Natives.isDisarmed(marks) || isDebuggable(context)) {
                only.arm();
            } else {
                // Of an earlier version, perhaps: then it is armed in a moment.
                disarmed = true;
            }
        } finally {
            only.begin();
        }
    }

    /** Whether bad starts have disarmed the app, and nothing is recorded until its next version. */
    static boolean isDisarmed() {
        return disarmed;
    }

    /** A developer kills such a build at each deployment: it is never disarmed. */
    private static boolean isDebuggable(Context context) {
        return (context.getApplicationInfo().flags & ApplicationInfo.FLAG_DEBUGGABLE) != 0;
    }

    /** Any thread: what runs is brought into line with the options. */
    static void apply() {
        if (Looper.myLooper() == Looper.getMainLooper() && !IdleMonitor.isRunning()) {
            inLine();
        } else {
            post(new On());
        }
    }

    /** On main. */
    private static void inLine() {
        Install install = only;
        if (install == null || install.refused) {
            return;
        }
        if (Natives.number("recording") == 0) {
            install.switchOff();
            install.begin();
            return;
        }
        if (install.off) {
            install.off = false;
            MethodBeat.resume(Natives.number("coarse_clock") != 0);
            install.begin();
        }
        if (install.armed) {
            Monitors.apply();
        } else if (install.placed) {
            install.arm();
        }
    }

    /** On main: what is watched is let go, and nothing is written any more. */
    private void switchOff() {
        if (!off) {
            off = true;
            if (armed) {
                armed = false;
                Monitors.stop();
            }
            MethodBeat.pause();
        }
    }

    private static final class On implements Runnable {
        @Override
        public void run() {
            try {
                inLine();
            } catch (Throwable fault) {
                Monitors.report("options", fault);
            }
        }
    }

    private final class Off implements Runnable {
        @Override
        public void run() {
            try {
                switchOff();
            } catch (Throwable fault) {
                Monitors.report("options", fault);
            }
        }
    }

    /** Any thread: the provider is asked again. */
    static synchronized void refresh() {
        if (only != null) {
            only.begin();
        }
    }

    private static void post(Runnable what) {
        new Handler(Looper.getMainLooper()).post(what);
    }

    private void arm() {
        armed = true;
        Natives.armed(Build.VERSION.SDK_INT);
        Reports.start(
                new IssueListener() {
                    @Override
                    public void onIssue(String json) {
                        Anrscope.told(json);
                    }
                });
        Monitors.start(context);
    }

    /** The thread; if one runs it asks the provider once more. */
    private synchronized void begin() {
        again = true;
        if (refused || running != null) {
            return;
        }
        running = new Thread(this, "anrscope-install");
        running.setDaemon(true);
        running.start();
    }

    @Override
    public void run() {
        Threads.startAll();
        while (isWanted()) {
            try {
                if (!said) {
                    said = true;
                    manifest();
                }
                // Who was switched off makes no file before the provider was asked; all others do not wait for it.
                boolean asked = off;
                if (asked) {
                    ask();
                }
                if (Natives.number("recording") != 0 && (placed || place()) && !asked) {
                    ask();
                }
                if (!refused) {
                    keep();
                }
            } catch (Throwable fault) {
                // Recording continues, in memory if there is no directory yet.
                reportOnce(fault);
            }
        }
    }

    /** Not the exception's text, which may be the app's. */
    private void reportOnce(Throwable fault) {
        if (faulty) {
            return;
        }
        faulty = true;
        try {
            String text = "the set-up is incomplete: it threw " + fault.getClass().getName();
            Log.w(Reports.TAG, text);
            Natives.notice(text);
        } catch (Throwable silent) {
            // Without a log.
        }
    }

    /** What was said is kept for the next start, and done. */
    private void keep() {
        Natives.keep(Folders.marks(context));
        if (Natives.number("recording") == 0) {
            post(new Off());
        } else if (placed) {
            // By what the manifest, the code and the provider have said: the code may speak after the provider of the manifest
            // has started this.
            Natives.retain(folder);
            // What became of them is in the recordings now.
            Uploads.begin(new File(folder));
            profiles();
            apply();
        }
    }

    /** Whether there is something to do; if not, the thread ends. */
    private synchronized boolean isWanted() {
        if (!again || refused) {
            running = null;
            return false;
        }
        again = false;
        return true;
    }

    /** Everything that is done once. */
    private boolean place() {
        folder = new File(Folders.of(context), "anrscope").getPath();
        PackageInfo info = null;
        try {
            info = context.getPackageManager().getPackageInfo(context.getPackageName(), 0);
        } catch (Exception unknown) {
            // Version 0 then.
        }
        long version = info == null ? 0 : info.versionCode;
        String name = info == null ? null : info.versionName;
        String marks = Folders.marks(context);
        if (!Natives.admit(folder, marks, version, name, isDebuggable(context))) {
            refused = true;
            // Or this installation is not among those that were asked for.
            disarmed = Natives.isDisarmed(marks);
            if (disarmed) {
                Log.w(
                        Reports.TAG,
                        "disarmed: the last starts of this version ended within 10 s of their begin. Nothing is recorded until the"
                                + " app's version code changes or its data is cleared; a debuggable build is never disarmed");
            }
            post(
                    new Runnable() {
                        @Override
                        public void run() {
                            try {
                                Monitors.stop();
                            } catch (Throwable fault) {
                                Monitors.report("options", fault);
                            }
                            Natives.disarm();
                        }
                    });
            return false;
        }
        disarmed = false;
        placed = true;
        MethodBeat.destination(folder);
        apply();
        if (Build.VERSION.SDK_INT >= 30) {
            Later.run("dev.anrscope.ExitInfo", context, folder);
        }
        return true;
    }

    /** On a thread of ours. */
    private void profiles() {
        if (Build.VERSION.SDK_INT >= 36) {
            Later.run("dev.anrscope.AnrProfiles", context, folder);
        }
    }

    /** {@code <meta-data android:name="anrscope.KEY" android:value="..."/>} of the application. */
    private void manifest() {
        try {
            Bundle said =
                    context.getPackageManager()
                            .getApplicationInfo(context.getPackageName(), PackageManager.GET_META_DATA)
                            .metaData;
            if (said == null) {
                return;
            }
            for (String key : said.keySet()) {
                Object value = said.get(key);
                if (key.startsWith(PREFIX) && value != null) {
                    Anrscope.take(key.substring(PREFIX.length()), value.toString(), false);
                }
            }
        } catch (Exception none) {
            // The defaults, then.
        }
    }

    /** The provider, by each key and by Matrix's name. */
    private void ask() {
        DynamicConfig provider = Anrscope.provider();
        if (provider == null) {
            return;
        }
        for (String line : Natives.keys().split("\n")) {
            String[] names = line.split("\t", -1);
            try {
                String value = provider.get(names[0]);
                if (value == null && names.length > 1 && !names[1].isEmpty()) {
                    value = provider.get(names[1]);
                }
                if (value != null) {
                    Natives.set(names[0], value);
                }
            } catch (Throwable theirs) {
                // This option stays as it is.
            }
        }
    }
}
