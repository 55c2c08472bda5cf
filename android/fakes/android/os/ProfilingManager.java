package android.os;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * API 35. Delivers the results that a case provides to every registered listener, as the system does with results of an
 * app that has died (AOSP {@code packages/modules/Profiling}, {@code ProfilingManager.java} and {@code
 * ProfilingService.java}, 36 and 36.1). There, a result without a file has the path {@code FILES-DIRECTORYnull}, and the
 * error UNKNOWN if it had none.
 */
public final class ProfilingManager {
    /** Results that wait for a listener. */
    public final List<ProfilingResult> hostLeft = new ArrayList<ProfilingResult>();
    /** Registered triggers. */
    public final List<ProfilingTrigger> hostTriggers =
            Collections.synchronizedList(new ArrayList<ProfilingTrigger>());
    /** The tags of {@link #requestRunningSystemTrace}, with or without a result. */
    public final List<String> hostRequests = Collections.synchronizedList(new ArrayList<String>());
    /**
     * The file that a request for the running trace gives; null as long as no trace runs in the background, or the rate limit is
     * reached: then there is no answer ({@code ProfilingService.processTriggerInternal}, 36).
     */
    public volatile String hostTrace;

    private final List<Consumer<ProfilingResult>> listeners = new ArrayList<Consumer<ProfilingResult>>();
    private final List<Executor> executors = new ArrayList<Executor>();

    public void registerForAllProfilingResults(Executor executor, Consumer<ProfilingResult> listener) {
        if (executor == null || listener == null) {
            throw new NullPointerException();
        }
        listeners.add(listener);
        executors.add(executor);
        for (ProfilingResult result : hostLeft) {
            hostDeliver(result);
        }
        hostLeft.clear();
    }

    public void unregisterForAllProfilingResults(Consumer<ProfilingResult> listener) {
        int at = listeners.indexOf(listener);
        if (at >= 0) {
            listeners.remove(at);
            executors.remove(at);
        }
    }

    /** API 36. One of each type: a later one replaces the earlier one. */
    public void addProfilingTriggers(List<ProfilingTrigger> triggers) {
        if (Build.VERSION.SDK_INT < 36) {
            throw new NoSuchMethodError("addProfilingTriggers");
        }
        for (ProfilingTrigger added : triggers) {
            removeProfilingTriggersByType(new int[] {added.getTriggerType()});
            hostTriggers.add(added);
        }
    }

    /** API 36. */
    public void removeProfilingTriggersByType(int[] types) {
        for (int type : types) {
            hostTriggers.removeIf(trigger -> trigger.getTriggerType() == type);
        }
    }

    /** API 36.1. Gives nothing unless its trigger is registered and a trace runs. */
    public void requestRunningSystemTrace(String tag) {
        hostRequests.add(tag);
        int type = ProfilingTrigger.TRIGGER_TYPE_APP_REQUEST_RUNNING_TRACE;
        boolean registered;
        synchronized (hostTriggers) {
            registered = hostTriggers.stream().anyMatch(trigger -> trigger.getTriggerType() == type);
        }
        String trace = hostTrace;
        if (registered && trace != null) {
            hostDeliver(new ProfilingResult(ProfilingResult.ERROR_NONE, trace, tag, type));
        }
    }

    /** Delivers a result to all registered listeners. */
    public void hostDeliver(ProfilingResult result) {
        for (int at = 0; at < listeners.size(); at++) {
            Consumer<ProfilingResult> listener = listeners.get(at);
            executors.get(at).execute(() -> listener.accept(result));
        }
    }
}
