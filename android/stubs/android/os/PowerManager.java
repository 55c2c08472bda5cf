package android.os;

import java.util.concurrent.Executor;

/** The methods in use. Signatures only. */
public final class PowerManager {
    private PowerManager() {}

    /** API 29. */
    public interface OnThermalStatusChangedListener {
        void onThermalStatusChanged(int status);
    }

    /** API 21. */
    public boolean isPowerSaveMode() {
        return false;
    }

    /** API 29. */
    public void addThermalStatusListener(Executor executor, OnThermalStatusChangedListener listener) {}
}
