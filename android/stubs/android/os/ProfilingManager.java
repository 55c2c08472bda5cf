package android.os;

import java.util.List;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/** API 35; triggers 36. Signatures only. */
public final class ProfilingManager {
    private ProfilingManager() {
        throw new UnsupportedOperationException();
    }

    public void registerForAllProfilingResults(Executor executor, Consumer<ProfilingResult> listener) {
        throw new UnsupportedOperationException();
    }

    public void unregisterForAllProfilingResults(Consumer<ProfilingResult> listener) {
        throw new UnsupportedOperationException();
    }

    public void addProfilingTriggers(List<ProfilingTrigger> triggers) {
        throw new UnsupportedOperationException();
    }

    public void removeProfilingTriggersByType(int[] triggers) {
        throw new UnsupportedOperationException();
    }
}
