package android.os;

import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Executor;

/** As AOSP 12's {@code core/java/android/os/PowerManager.java}, with the system's answers in the fields. */
public final class PowerManager {
    public static final int THERMAL_STATUS_NONE = 0;

    /** The device that all managers are about. */
    private static final PowerManager HOST = new PowerManager();

    private final Map<OnThermalStatusChangedListener, Executor> listeners = new ConcurrentHashMap<>();
    private final int status = Integer.getInteger("android.host.thermal", THERMAL_STATUS_NONE);
    private final boolean powerSave = Boolean.getBoolean("android.host.powerSave");

    private PowerManager() {}

    /** What {@code Context.getSystemService} returns. */
    public static PowerManager host() {
        return HOST;
    }

    /** API 29. */
    public interface OnThermalStatusChangedListener {
        void onThermalStatusChanged(int status);
    }

    public boolean isPowerSaveMode() {
        return powerSave;
    }

    /** The listener receives the present status, and each change, from a Binder thread by the executor. */
    public void addThermalStatusListener(Executor executor, OnThermalStatusChangedListener listener) {
        if (listeners.putIfAbsent(listener, executor) != null) {
            throw new IllegalArgumentException("Listener already added: " + listener);
        }
        report(executor, listener);
    }

    private void report(Executor executor, OnThermalStatusChangedListener listener) {
        Thread binder = new Thread(() -> executor.execute(() -> listener.onThermalStatusChanged(status)), "Binder:1_1");
        binder.start();
    }
}
