package dev.anrscope;

import android.content.Context;
import android.os.ProfilingManager;
import android.os.ProfilingResult;
import android.os.ProfilingTrigger;
import java.util.Collections;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * API 36: asks the platform for a profile of each ANR, taken while main hangs, and records where the platform stored
 * it. Profiles of ended processes arrive at the next start, when the app registers. Loaded by name on such systems
 * only; runs on the library's threads.
 */
final class AnrProfiles implements OptionalClasses.Step, Consumer<ProfilingResult>, Executor {
    /** {@code Context.PROFILING_SERVICE}. */
    private static final String SERVICE = "profiling";

    private static AnrProfiles only;

    private ProfilingManager manager;
    private String directory;

    /** Registers or unregisters, as the option says. */
    @Override
    public void run(Context context, String directory) {
        synchronized (AnrProfiles.class) {
            apply(context, directory);
        }
    }

    private void apply(Context context, String directory) {
        boolean wanted = Natives.number("anr_profile") != 0;
        if (wanted == (only != null)) {
            return;
        }
        if (wanted) {
            manager = (ProfilingManager) context.getSystemService(SERVICE);
            if (manager != null) {
                this.directory = directory;
                only = this;
                manager.registerForAllProfilingResults(this, this);
                manager.addProfilingTriggers(
                        Collections.singletonList(
                                new ProfilingTrigger.Builder(ProfilingTrigger.TRIGGER_TYPE_ANR).build()));
            }
        } else {
            only.manager.removeProfilingTriggersByType(new int[] {ProfilingTrigger.TRIGGER_TYPE_ANR});
            only.manager.unregisterForAllProfilingResults(only);
            only = null;
        }
    }

    /** Starts a thread per result: this reads and writes files, and happens once per ANR. */
    @Override
    public void execute(Runnable result) {
        new Thread(result, "anrscope-profile").start();
    }

    @Override
    public void accept(ProfilingResult result) {
        try {
            String path = result.getResultFilePath();
            // Results of other triggers, and of the app's own requests, arrive here as well.
            if (result.getTriggerType() == ProfilingTrigger.TRIGGER_TYPE_ANR
                    && result.getErrorCode() == ProfilingResult.ERROR_NONE
                    && path != null) {
                Natives.profiled(directory, path);
            }
        } catch (Throwable fault) {
            // The platform keeps the file; only the note in the recording is missing.
        }
    }
}
