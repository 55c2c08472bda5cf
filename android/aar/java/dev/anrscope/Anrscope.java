package dev.anrscope;

import android.content.Context;
import android.os.Handler;
import android.os.Looper;
import android.util.Log;
import java.io.File;
import java.io.IOException;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;

/**
 * The public API of anrscope. With the library's manifest it starts by itself ({@link StartProvider}). To use other
 * values, call {@link #install(Context, Config)} as early as you can; both can be combined.
 *
 * <p>No method throws unless its documentation says so. If the library cannot be loaded, all methods do nothing. Work
 * that needs files or system services runs on the library's own threads.
 */
public final class Anrscope {
    private static volatile IssueListener listener;
    private static volatile DynamicConfig provider;
    private static boolean missing;
    private static final Set<String> SET_BY_CODE = new HashSet<String>();

    private Anrscope() {}

    /** Starts with the default configuration. */
    public static void install(Context context) {
        install(context, new Config.Builder().build());
    }

    /**
     * Starts monitoring, or changes what is monitored. Call it on main if possible; on another thread it returns before
     * main has applied it.
     *
     * @param context any context of the app
     */
    public static void install(Context context, Config config) {
        if (context == null || config == null) {
            return;
        }
        try {
            if (!isLoaded()) {
                logMissing();
                return;
            }
            Context application = context.getApplicationContext();
            final Context of = application == null ? context : application;
            if (Looper.myLooper() == Looper.getMainLooper()) {
                Install.onMain(of, config);
                return;
            }
            final Config then = config;
            new Handler(Looper.getMainLooper())
                    .post(
                            new Runnable() {
                                @Override
                                public void run() {
                                    try {
                                        Install.onMain(of, then);
                                    } catch (Throwable untraced) {
                                        // See below.
                                    }
                                }
                            });
        } catch (Throwable untraced) {
            // A failure of the library must never break the app.
        }
    }

    /**
     * Whether the library is loaded and recording was started. Also false if repeated bad starts have disarmed this
     * version of the app, see docs/configuration.md.
     */
    public static boolean isRecording() {
        return isLoaded() && !Install.isDisarmed();
    }

    /** Whether the library is loaded. */
    private static boolean isLoaded() {
        try {
            return MethodBeat.isRecording();
        } catch (Throwable without) {
            return false;
        }
    }

    /** Logged once per process, so that a missing library is not mistaken for an app with nothing to record. */
    private static synchronized void logMissing() {
        // The app may have switched recording off, see MethodBeat.
        if (missing || Boolean.getBoolean("anrscope.off")) {
            return;
        }
        missing = true;
        String why = "it did not start";
        try {
            String library = System.getProperty("anrscope.lib");
            if (library == null) {
                System.loadLibrary("anrscope");
            } else {
                System.load(library);
            }
        } catch (Throwable refused) {
            why = refused.toString();
        }
        Log.w(Reports.TAG, "nothing is recorded: cannot load the native library anrscope: " + why);
    }

    /** Starts one tracer. */
    public static void start(Tracer tracer) {
        set(tracer.key, "1");
    }

    /** Stops one tracer and removes its hooks from the system's objects. */
    public static void stop(Tracer tracer) {
        set(tracer.key, "0");
    }

    /**
     * Changes an option at run time.
     *
     * @return whether the option exists and the value is valid
     */
    public static boolean set(String key, String value) {
        if (key == null || value == null || !isLoaded()) {
            return false;
        }
        boolean taken = take(key, value, true);
        try {
            Install.apply();
        } catch (Throwable fault) {
            Monitors.report("options", fault);
        }
        return taken;
    }

    /** All options in force, one {@code key=value} per line. */
    public static String options() {
        return isLoaded() ? Natives.inForce() : "";
    }

    /** Asks the {@link DynamicConfig} for its values again. */
    public static void refresh() {
        Install.refresh();
    }

    /** Sets the listener for reports; null removes it. Reports are in the recording in any case. */
    public static void setListener(IssueListener issues) {
        listener = issues;
    }

    /** Sets the listener for ANRs, in addition to the reports; null removes it. */
    public static void setAnrListener(AnrListener listener) {
        AnrEvents.listener = listener;
    }

    /**
     * Sets the uploader that sends finished recordings to your backend; null removes it. It is called on a library
     * thread: at the start for recordings of earlier processes, and after an ANR. The upload state survives the
     * process: each recording is offered until it has arrived, and not again after that.
     */
    public static void setUploader(Uploader uploader) {
        if (isLoaded()) {
            Uploads.set(uploader);
        }
    }

    /**
     * Converts a recording to a trace for ui.perfetto.dev, for example to share it from the device itself. Needs the
     * optional {@code anrscope-export.aar}. It reads and writes files, so do not call it on main. A recording of a
     * running process is exported as it is now.
     *
     * @param recording one of this app's recordings, {@code *.anrscope}; if a {@code methodMapping.txt} is in the same
     *     directory, the trace has method names, otherwise method ids
     * @param out the trace, {@code *.pftrace}; written completely or not at all
     * @throws IOException if it cannot be read or written, on main, or without that library; the message says which
     */
    public static void exportTrace(File recording, File out) throws IOException {
        TraceFile.write(recording, out);
    }

    /**
     * All recordings on this device, including the one in progress. It lists a directory, so do not call it on main.
     */
    public static File[] recordings(Context context) {
        return context == null ? new File[0] : RecordingFiles.all(RecordingFiles.directory(context));
    }

    /** Adds an observer of what the monitors see. */
    public static void addObserver(Observer observer) {
        Observers.add(observer);
    }

    /** Removes an observer. */
    public static void removeObserver(Observer observer) {
        Observers.remove(observer);
    }

    /** Sets the name of the current scene, in place of the activity's class; null restores the class. */
    public static void setScene(String scene) {
        if (isLoaded()) {
            Natives.setScene(scene);
        }
    }

    /** Whether the app is in the foreground; false from half a second after its last activity is paused. */
    public static boolean isForeground() {
        return isLoaded() && Natives.isForeground();
    }

    /** Records an instant event on the calling thread's track. */
    public static void mark(String name) {
        if (name != null && isLoaded()) {
            Natives.mark(name);
        }
    }

    /** Records a value of one of the app's counters. */
    public static void counter(String name, double value) {
        if (name != null && isLoaded()) {
            Natives.counter(name, value);
        }
    }

    /**
     * Watches a thread's heartbeat: it must call {@link #beat} at least once in {@code limitMillis} (100 to 600,000). If it
     * does not, the recording says so, and has its native stack if the option {@code native_stacks} is on. Nothing is
     * missed while the app is in the background. A thread other than the caller is watched from its first beat on; one
     * that ends is forgotten. At most 16 threads are watched.
     */
    public static void watch(Thread thread, long limitMillis) {
        if (thread != null && isLoaded()) {
            Heartbeats.watch(thread, limitMillis);
        }
    }

    /** The calling thread's heartbeat; see {@link #watch}. Does nothing on a thread that is not watched. */
    public static void beat() {
        if (Heartbeats.isUsed()) {
            Heartbeats.beat();
        }
    }

    /** Stops watching a thread. */
    public static void unwatch(Thread thread) {
        if (thread != null && isLoaded()) {
            Heartbeats.unwatch(thread);
        }
    }

    /** Requests a thread dump of this process; see {@link MethodBeat#dump}. */
    public static boolean dump() {
        return isLoaded() && MethodBeat.dump();
    }

    /**
     * Applies one option.
     *
     * @param code whether app code set it; the manifest does not override such a value
     */
    static boolean take(String key, String value, boolean code) {
        synchronized (SET_BY_CODE) {
            if (code) {
                SET_BY_CODE.add(key);
            } else if (SET_BY_CODE.contains(key)) {
                return false;
            }
        }
        return Natives.set(key, value);
    }

    static void takeAll(Map<String, String> values, boolean code) {
        for (Map.Entry<String, String> value : values.entrySet()) {
            take(value.getKey(), value.getValue(), code);
        }
    }

    static void provider(DynamicConfig source) {
        if (source != null) {
            provider = source;
        }
    }

    static DynamicConfig provider() {
        return provider;
    }

    /** Handles a finished report or another event of the library; on {@code anrscope-reports}. */
    static void deliver(String what) {
        if (AnrEvents.take(what)) {
            return;
        }
        if (what.startsWith("!")) {
            Observers.foreground(what.equals("!foreground"));
            return;
        }
        if (what.contains("\"detail\":\"ANR\"") || what.contains("\"detail\":\"SIGNAL_ANR")) {
            Observers.anr(what);
            Uploads.check();
        }
        Observers.report(what);
        IssueListener to = listener;
        if (to != null) {
            try {
                to.onIssue(what);
            } catch (Throwable theirs) {
                // An exception in the app's listener must not stop later reports.
            }
        }
    }
}
