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
 * The order in which things start.
 *
 * <pre>
 * main:             check the crash-loop guard's marker and the kill switch; options; the monitors
 * anrscope-install: directory, manifest options, whether this start is admitted, the recording's storage, the
 *                   provider's options, old recordings, exits of earlier processes
 * </pre>
 *
 * The thread finishes a few milliseconds after main has started to monitor, so that the process's first message is
 * seen.
 */
final class Install implements Runnable {
    private static final String PREFIX = "anrscope.";

    private static Install only;

    private final Context context;
    private boolean armed;
    /** The kill switch is off: nothing is recorded. */
    private volatile boolean off;
    private volatile boolean refused;
    /** Repeated bad starts have disarmed this version; see crash_loop.rs. */
    private static volatile boolean disarmed;
    private Thread running;
    /** The provider must be asked. */
    private boolean again;
    private volatile boolean placed;
    /** Manifest options are applied. */
    private boolean manifestApplied;
    /** A fault was reported. */
    private boolean faultReported;
    /** Directory of the recordings. */
    private volatile String directory;

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
            String marks = Directories.marks(context);
            if (Natives.isOff(marks)) {
                Anrscope.take("recording", "0", false);
            }
            if (Natives.number("recording") == 0) {
                only.off = true;
                MethodBeat.pause();
            } else if (!Natives.isDisarmed(marks) || isDebuggable(context)) {
                only.arm();
            } else {
                // The marker may be that of an earlier version; then the thread re-arms this one in a moment.
                disarmed = true;
            }
        } finally {
            only.begin();
        }
    }

    /** Whether the crash-loop guard is disarmed: nothing is recorded until the next version. */
    static boolean isDisarmed() {
        return disarmed;
    }

    /** Developers kill such a build at each deployment: it is never disarmed. */
    private static boolean isDebuggable(Context context) {
        return (context.getApplicationInfo().flags & ApplicationInfo.FLAG_DEBUGGABLE) != 0;
    }

    /** Applies changed options to the monitors. Any thread. */
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

    /** On main: stops all monitors; nothing is recorded any more. */
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

    /** Asks the provider again. Any thread. */
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
                        Anrscope.deliver(json);
                    }
                });
        Monitors.start(context);
    }

    /** Starts the thread; if it is already running, it asks the provider once more. */
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
                if (!manifestApplied) {
                    manifestApplied = true;
                    manifest();
                }
                // If the kill switch is off, no file is created before the provider has answered. Otherwise recording
                // does not wait for it.
                boolean wasOff = off;
                if (wasOff) {
                    ask();
                }
                if (Natives.number("recording") != 0 && (placed || place()) && !wasOff) {
                    ask();
                }
                if (!refused) {
                    keep();
                }
            } catch (Throwable fault) {
                // It keeps recording, in memory if there is no directory yet.
                reportOnce(fault);
            }
        }
    }

    /** Not the exception's text, which may be the app's. */
    private void reportOnce(Throwable fault) {
        if (faultReported) {
            return;
        }
        faultReported = true;
        try {
            String text = "the set-up is incomplete: it threw " + fault.getClass().getName();
            Log.w(Reports.TAG, text);
            Natives.notice(text);
        } catch (Throwable silent) {
            // Without a log.
        }
    }

    /** Saves the options for the next start, then applies them. */
    private void keep() {
        Natives.keep(Directories.marks(context));
        if (Natives.number("recording") == 0) {
            post(new Off());
        } else if (placed) {
            // Uses the options of manifest, code and provider: code may set options after the manifest's provider has
            // started this.
            Natives.retain(directory);
            if (!isDebuggable(context)) {
                // A developer pulls them, and the host unwinds with more symbols.
                StackBytes.wipeAll(new File(directory));
            }
            // The recordings now contain how their processes ended.
            Uploads.begin(new File(directory));
            platform();
            apply();
        }
    }

    /** Whether there is more to do; if not, the thread ends. */
    private synchronized boolean isWanted() {
        if (!again || refused) {
            running = null;
            return false;
        }
        again = false;
        return true;
    }

    /** Everything that is done once per process. */
    private boolean place() {
        directory = new File(Directories.of(context), "anrscope").getPath();
        PackageInfo info = null;
        try {
            info = context.getPackageManager().getPackageInfo(context.getPackageName(), 0);
        } catch (Exception unknown) {
            // Then the version is 0.
        }
        long version = info == null ? 0 : info.versionCode;
        String name = info == null ? null : info.versionName;
        String marks = Directories.marks(context);
        if (!Natives.admit(directory, marks, version, name, isDebuggable(context))) {
            refused = true;
            // Or this install is not in the sample.
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
        MethodBeat.destination(directory);
        apply();
        if (Build.VERSION.SDK_INT >= 30) {
            OptionalClasses.run("dev.anrscope.ExitInfo", context, directory);
        }
        return true;
    }

    /** Registers for the platform's own evidence of ANRs and the device's heat, as the options say; on a library thread. */
    private void platform() {
        if (Build.VERSION.SDK_INT >= 29) {
            OptionalClasses.run("dev.anrscope.ThermalListener", context, directory);
        }
        if (Build.VERSION.SDK_INT >= 36) {
            OptionalClasses.run("dev.anrscope.PlatformProfiles", context, directory);
        }
        if (Build.VERSION.SDK_INT >= 37) {
            OptionalClasses.run("dev.anrscope.AnrWarnings", context, directory);
        }
    }

    /** Reads {@code <meta-data android:name="anrscope.KEY" android:value="..."/>} of the application. */
    private void manifest() {
        try {
            Bundle metaData =
                    context.getPackageManager()
                            .getApplicationInfo(context.getPackageName(), PackageManager.GET_META_DATA)
                            .metaData;
            if (metaData == null) {
                return;
            }
            for (String key : metaData.keySet()) {
                Object value = metaData.get(key);
                if (key.startsWith(PREFIX) && value != null) {
                    Anrscope.take(key.substring(PREFIX.length()), value.toString(), false);
                }
            }
        } catch (Exception none) {
            // The defaults apply.
        }
    }

    /** Asks the provider for each option, by its key and by Matrix's name. */
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
                // This option keeps its value.
            }
        }
    }
}
