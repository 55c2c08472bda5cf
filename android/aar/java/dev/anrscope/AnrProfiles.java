package dev.anrscope;

import android.content.Context;
import android.os.ProfilingManager;
import android.os.ProfilingResult;
import android.os.ProfilingTrigger;
import java.util.Collections;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * API 36: asks the platform for a profile of each ANR, which it takes while main hangs, and notes in the recording where it left it. What belongs
 * to a process that is gone comes at the next start, when an app registers. Loaded on such systems only, by its name; on threads of the library's.
 */
final class AnrProfiles implements Later.Step, Consumer<ProfilingResult>, Executor {
    /** {@code Context.PROFILING_SERVICE}. */
    private static final String SERVICE = "profiling";

    private static AnrProfiles only;

    private ProfilingManager manager;
    private String folder;

    /** Brings it into line with the option. */
    @Override
    public void run(Context context, String folder) {
        synchronized (AnrProfiles.class) {
            apply(context, folder);
        }
    }

    private void apply(Context context, String folder) {
        boolean wanted = Natives.number("anr_profile") != 0;
        if (wanted == (only != null)) {
            return;
        }
        if (wanted) {
            manager = (ProfilingManager) context.getSystemService(SERVICE);
            if (manager != null) {
                this.folder = folder;
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

    /** Files are read and written for it, and it comes once an ANR: a thread for each. */
    @Override
    public void execute(Runnable result) {
        new Thread(result, "anrscope-profile").start();
    }

    @Override
    public void accept(ProfilingResult result) {
        try {
            String path = result.getResultFilePath();
            // Those of other triggers, and what the app asked for itself, come here as well.
            if (result.getTriggerType() == ProfilingTrigger.TRIGGER_TYPE_ANR
                    && result.getErrorCode() == ProfilingResult.ERROR_NONE
                    && path != null) {
                Natives.profiled(folder, path);
            }
        } catch (Throwable fault) {
            // The file is where it is; nobody is told.
        }
    }
}
