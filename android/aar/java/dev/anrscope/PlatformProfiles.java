package dev.anrscope;

import android.content.Context;
import android.os.ProfilingManager;
import android.os.ProfilingResult;
import android.os.ProfilingTrigger;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * API 36: asks the platform for profiles and system traces at the triggers that the options name, and records where it
 * stored each. Results for ended processes arrive at the next start, when the app registers. Loaded by name on such
 * systems only; runs on the library's threads.
 *
 * <p>A trigger is called by the lower-case rest of its constant {@code ProfilingTrigger.TRIGGER_TYPE_...}, and its
 * number is read from the running platform: API 36 has two triggers, 36.1 four more, and API 37 five more.
 */
final class PlatformProfiles implements OptionalClasses.Step, Consumer<ProfilingResult>, Executor {
    /** {@code Context.PROFILING_SERVICE}. */
    private static final String SERVICE = "profiling";

    /** The trigger of {@code ProfilingManager.requestRunningSystemTrace}, API 36.1. */
    private static final String RUNNING_TRACE = "app_request_running_trace";

    /** What {@link Natives#profiled} takes in place of an error for a request that has no result yet. */
    private static final int REQUESTED = -1;

    private static PlatformProfiles only;

    private ProfilingManager manager;
    private String directory;
    /** The registered triggers: their numbers and names. Replaced as a whole. */
    private volatile Map<Integer, String> registered = Collections.emptyMap();
    /** Names that the platform does not have, and that a notice reported. */
    private final Set<String> unknown = new HashSet<String>();

    /** Registers and unregisters, as the options say. */
    @Override
    public void run(Context context, String directory) {
        synchronized (PlatformProfiles.class) {
            Set<String> wanted = wanted();
            if (only != null) {
                only.follow(wanted);
                return;
            }
            manager = wanted.isEmpty() ? null : (ProfilingManager) context.getSystemService(SERVICE);
            if (manager != null) {
                this.directory = directory;
                only = this;
                follow(wanted);
            }
        }
    }

    private static Set<String> wanted() {
        Set<String> wanted = new HashSet<String>();
        if (Natives.number("anr_profile") != 0) {
            wanted.add("anr");
        }
        if (Natives.number("system_trace_ms") != 0) {
            wanted.add(RUNNING_TRACE);
        }
        for (String name : Natives.text("profile_triggers").split(";")) {
            String trimmed = name.trim().toLowerCase(Locale.ROOT);
            if (!trimmed.isEmpty()) {
                wanted.add(trimmed);
            }
        }
        return wanted;
    }

    private void follow(Set<String> wanted) {
        Map<Integer, String> triggers = new TreeMap<Integer, String>();
        List<ProfilingTrigger> added = new ArrayList<ProfilingTrigger>();
        for (String name : wanted) {
            ProfilingTrigger trigger = trigger(name);
            if (trigger != null) {
                triggers.put(trigger.getTriggerType(), name);
                if (!registered.containsKey(trigger.getTriggerType())) {
                    added.add(trigger);
                }
            } else if (unknown.add(name)) {
                Natives.notice("the platform has no profiling trigger of this name, or not at this API level: " + name);
            }
        }
        int[] removed = new int[registered.size()];
        int count = 0;
        for (int type : registered.keySet()) {
            if (!triggers.containsKey(type)) {
                removed[count++] = type;
            }
        }
        boolean listens = !registered.isEmpty();
        // Before the listener: the platform may have results for it at once.
        registered = triggers;
        if (!listens && !triggers.isEmpty()) {
            manager.registerForAllProfilingResults(this, this);
        }
        if (count > 0) {
            manager.removeProfilingTriggersByType(java.util.Arrays.copyOf(removed, count));
        }
        if (!added.isEmpty()) {
            manager.addProfilingTriggers(added);
        }
        StackSampler.tracer = triggers.containsValue(RUNNING_TRACE) ? new Request() : null;
        if (listens && triggers.isEmpty()) {
            manager.unregisterForAllProfilingResults(this);
        }
    }

    /** A trigger; null if the running platform does not have it, or does not accept it. */
    private static ProfilingTrigger trigger(String name) {
        try {
            String field = "TRIGGER_TYPE_" + name.toUpperCase(Locale.ROOT);
            return new ProfilingTrigger.Builder(ProfilingTrigger.class.getField(field).getInt(null)).build();
        } catch (Exception missing) {
            return null;
        }
    }

    /** Starts a thread per result: this reads and writes files, and the platform limits how many results there are. */
    @Override
    public void execute(Runnable result) {
        new Thread(result, "anrscope-profile").start();
    }

    @Override
    public void accept(ProfilingResult result) {
        try {
            // Results of other triggers, and of the app's own requests, arrive here as well.
            String trigger = registered.get(result.getTriggerType());
            if (trigger != null) {
                int error = result.getErrorCode();
                // After an error the path is not null on every level: API 36.1 appends "null" to the directory.
                String path = error == ProfilingResult.ERROR_NONE ? result.getResultFilePath() : null;
                Natives.profiled(directory, trigger, path, result.getTag(), error);
            }
        } catch (Throwable fault) {
            // The platform keeps the file; only the note in the recording is missing.
        }
    }

    /**
     * Requests a snapshot of the system trace that runs in the background, with the recording's id as its tag. It asks
     * the system, which may be as slow as the stall: on a thread of its own.
     */
    private final class Request implements Runnable {
        @Override
        public void run() {
            try {
                String id = Natives.recordingId();
                if (id != null) {
                    Method request = ProfilingManager.class.getMethod("requestRunningSystemTrace", String.class);
                    Natives.profiled(directory, RUNNING_TRACE, null, id, REQUESTED);
                    request.invoke(manager, id);
                }
            } catch (Throwable refused) {
                Natives.notice("no system trace of the stall was requested: " + refused.getClass().getName());
            }
        }
    }
}
