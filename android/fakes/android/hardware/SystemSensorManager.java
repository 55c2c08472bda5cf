package android.hardware;

import android.os.Looper;

/**
 * Sensors, whose events native code dispatches from the poll on all levels
 * (core/jni/android_hardware_SensorManager.cpp, Receiver::handleEvent).
 */
public final class SystemSensorManager {
    private SystemSensorManager() {}

    public static final class SensorEventQueue {
        private final SensorEventListener listener;
        private final Looper looper;

        public SensorEventQueue(SensorEventListener listener, Looper looper) {
            this.listener = listener;
            this.looper = looper;
        }

        /** Delivers an event of the sensor. From any thread. */
        public void hostEvent(final long timestamp) {
            looper.getQueue()
                    .hostNative(
                            0,
                            new Runnable() {
                                @Override
                                public void run() {
                                    dispatchSensorEvent(timestamp);
                                }
                            });
        }

        /** Called from native code. */
        private void dispatchSensorEvent(long timestamp) {
            listener.onSensorChanged(timestamp);
        }
    }
}
