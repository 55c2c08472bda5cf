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
 * The app's side of anrscope. With the library's manifest it starts by itself ({@link StartProvider}); an app that wants other
 * values calls {@link #install(Context, Config)} as early as it can, which also works beside that.
 *
 * <p>Nothing here throws, and everything does nothing where the library cannot be loaded. What needs files or the system's
 * services is done on a thread of ours.
 */
public final class Anrscope {
    private static volatile IssueListener listener;
    private static volatile DynamicConfig provider;
    private static boolean missing;
    private static final Set<String> SAID = new HashSet<String>();

    private Anrscope() {}

    /** With the defaults. */
    public static void install(Context context) {
        install(context, new Config.Builder().build());
    }

    /**
     * Starts watching, or changes what is watched. On main as a rule; elsewhere it returns before main has done it.
     *
     * @param context any of the app's
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
                                        // As below.
                                    }
                                }
                            });
        } catch (Throwable untraced) {
            // The app is worth more than its trace.
        }
    }

    /**
     * Whether the library is there and recording was started; false too where bad starts have disarmed the app until its next
     * version, see docs/configuration.md.
     */
    public static boolean isRecording() {
        return isLoaded() && !Install.isDisarmed();
    }

    /** Whether the library is there. */
    private static boolean isLoaded() {
        try {
            return MethodBeat.isRecording();
        } catch (Throwable without) {
            return false;
        }
    }

    /** Once a process: an app that records nothing should not look like one that has nothing to record. */
    private static synchronized void logMissing() {
        // The app may have switched it off, see MethodBeat.
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
        Log.w(Reports.TAG, "nothing is recorded: the library anrscope cannot be used: " + why);
    }

    /** Starts one of the tracers. */
    public static void start(Tracer tracer) {
        set(tracer.key, "1");
    }

    /** Stops one of them; what it has put into the system is taken out again. */
    public static void stop(Tracer tracer) {
        set(tracer.key, "0");
    }

    /**
     * Changes an option at run time.
     *
     * @return whether there is such an option, and the value is one
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

    /** Every option in force, a {@code key=value} a line. */
    public static String options() {
        return isLoaded() ? Natives.inForce() : "";
    }

    /** Asks the provider of the configuration again. */
    public static void refresh() {
        Install.refresh();
    }

    /** Who gets the reports; null for nobody. They are in the recording in any case. */
    public static void setListener(IssueListener issues) {
        listener = issues;
    }

    /** Who is told of ANRs, beside the reports; null for nobody. */
    public static void setAnrListener(AnrListener listener) {
        AnrTold.listener = listener;
    }

    /**
     * Who brings finished recordings to the app's own backend; null for nobody. It is asked on a thread of ours: at the start for
     * what earlier processes left, and after an ANR. What became of each survives the process, so that each is handed over until it
     * has arrived, and then not again.
     */
    public static void setUploader(Uploader uploader) {
        if (isLoaded()) {
            Uploads.set(uploader);
        }
    }

    /**
     * Writes a recording as a trace that ui.perfetto.dev opens, for a tester who shares it from the device itself. Needs the optional
     * {@code anrscope-export.aar}. It reads and writes files, so not on main; a recording of a living process is taken as it is now.
     *
     * @param recording one of this app's, {@code *.anrscope}; where a {@code methodMapping.txt} lies beside it methods have their names,
     *     otherwise their numbers
     * @param out the trace, {@code *.pftrace}; it is there whole or not at all
     * @throws IOException if it cannot be read or written, on main, or without that library; the text says which
     */
    public static void exportTrace(File recording, File out) throws IOException {
        TraceFile.write(recording, out);
    }

    /** The recordings that there are, this process's too. Not on main: it looks into a folder. */
    public static File[] recordings(Context context) {
        return context == null ? new File[0] : RecordingFiles.all(RecordingFiles.folder(context));
    }

    /** From now on this one sees what the monitors see. */
    public static void addObserver(Observer observer) {
        Observers.add(observer);
    }

    /** Not any more. */
    public static void removeObserver(Observer observer) {
        Observers.remove(observer);
    }

    /** The name of what is shown, in place of the activity's class; null for that again. */
    public static void setScene(String scene) {
        if (isLoaded()) {
            Natives.setScene(scene);
        }
    }

    /** Whether the app is in the foreground; half a second after its last page was left it is not. */
    public static boolean isForeground() {
        return isLoaded() && Natives.isForeground();
    }

    /** An instant of the app's own, on the calling thread's track. */
    public static void mark(String name) {
        if (name != null && isLoaded()) {
            Natives.mark(name);
        }
    }

    /** A sample of a counter of the app's own. */
    public static void counter(String name, double value) {
        if (name != null && isLoaded()) {
            Natives.counter(name, value);
        }
    }

    /** Asks for a thread dump of this process; see {@link MethodBeat#dump}. */
    public static boolean dump() {
        return isLoaded() && MethodBeat.dump();
    }

    /**
     * Takes a value over.
     *
     * @param code whether the app's code says it, which the manifest then does not change
     */
    static boolean take(String key, String value, boolean code) {
        synchronized (SAID) {
            if (code) {
                SAID.add(key);
            } else if (SAID.contains(key)) {
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

    static void provider(DynamicConfig asked) {
        if (asked != null) {
            provider = asked;
        }
    }

    static DynamicConfig provider() {
        return provider;
    }

    /** A finished report, or something else that the library tells; on {@code anrscope-reports}. */
    static void told(String what) {
        if (AnrTold.take(what)) {
            return;
        }
        if (what.startsWith("!")) {
            Observers.foreground(what.equals("!foreground"));
            return;
        }
        if (what.contains("\"detail\":\"ANR\"") || what.contains("\"detail\":\"SIGNAL_ANR")) {
            Observers.anr(what);
            Uploads.look();
        }
        IssueListener to = listener;
        if (to != null) {
            try {
                to.onIssue(what);
            } catch (Throwable theirs) {
                // The app's listener is not ours to handle; the next report is.
            }
        }
    }
}
