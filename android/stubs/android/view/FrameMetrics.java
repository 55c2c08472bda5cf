package android.view;

/** API 24. Signatures only. */
public final class FrameMetrics {
    public FrameMetrics(FrameMetrics other) {}

    public long getMetric(int id) {
        return 0;
    }
}
