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
 * to a process that is gone comes at the next start, when somebody registers. Loaded on such systems only; on threads of ours.
 */
final class AnrProfiles implements Consumer<ProfilingResult>, Executor {
    /** {@code Context.PROFILING_SERVICE}. */
    private static final String SERVICE = "profiling";

    private static AnrProfiles only;

    private final ProfilingManager manager;
    private final String folder;

    private AnrProfiles(ProfilingManager manager, String folder) {
        this.manager = manager;
        this.folder = folder;
    }

    /** Brings it into line with the option. */
    static synchronized void apply(Context context, String folder) {
        boolean wanted = Natives.number("anr_profile") != 0;
        if (wanted == (only != null)) {
            return;
        }
        if (wanted) {
            ProfilingManager manager = (ProfilingManager) context.getSystemService(SERVICE);
            if (manager != null) {
                only = new AnrProfiles(manager, folder);
                manager.registerForAllProfilingResults(only, only);
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
