package android.hardware;

public interface SensorEventListener {
    void onSensorChanged(long timestamp);
}
