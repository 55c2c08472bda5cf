package dev.anrscope;

import android.content.Context;
import android.os.PowerManager;
import java.util.concurrent.Executor;

/**
 * API 29: gives {@link PlatformStatus} the device's thermal status as the system reports it. Loaded by name on such
 * systems only, on a library thread. The system calls it on a Binder thread, at once and after each change (AOSP 10,
 * {@code PowerManager.addThermalStatusListener}).
 */
final class ThermalListener
        implements OptionalClasses.Step, PowerManager.OnThermalStatusChangedListener, Executor {
    private static boolean registered;

    @Override
    public void run(Context context, String directory) {
        synchronized (ThermalListener.class) {
            Object power = context.getSystemService(Context.POWER_SERVICE);
            if (!registered && power instanceof PowerManager) {
                PlatformStatus.power = (PowerManager) power;
                ((PowerManager) power).addThermalStatusListener(this, this);
                registered = true;
            }
        }
    }

    @Override
    public void onThermalStatusChanged(int status) {
        PlatformStatus.thermal = status;
    }

    /** Only stores a number: it needs no other thread. */
    @Override
    public void execute(Runnable call) {
        call.run();
    }
}
