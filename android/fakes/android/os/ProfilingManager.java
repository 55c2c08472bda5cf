package android.os;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * API 35. Delivers the results that a case provides to every registered listener, as the system does with results of an
 * app that has died.
 */
public final class ProfilingManager {
    /** Results that wait for a listener. */
    public final List<ProfilingResult> hostLeft = new ArrayList<ProfilingResult>();
    /** Registered triggers. */
    public final List<ProfilingTrigger> hostTriggers = new ArrayList<ProfilingTrigger>();

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

    /** Delivers a result to all registered listeners. */
    public void hostDeliver(ProfilingResult result) {
        for (int at = 0; at < listeners.size(); at++) {
            Consumer<ProfilingResult> listener = listeners.get(at);
            executors.get(at).execute(() -> listener.accept(result));
        }
    }
}
