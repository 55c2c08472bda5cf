package android.view;

/** API 24; the vsyncs from 26 on, GPU and deadline from 31 on. */
public final class FrameMetrics {
    public static final int UNKNOWN_DELAY_DURATION = 0;
    public static final int INPUT_HANDLING_DURATION = 1;
    public static final int ANIMATION_DURATION = 2;
    public static final int LAYOUT_MEASURE_DURATION = 3;
    public static final int DRAW_DURATION = 4;
    public static final int SYNC_DURATION = 5;
    public static final int COMMAND_ISSUE_DURATION = 6;
    public static final int SWAP_BUFFERS_DURATION = 7;
    public static final int TOTAL_DURATION = 8;
    public static final int FIRST_DRAW_FRAME = 9;
    public static final int INTENDED_VSYNC_TIMESTAMP = 10;
    public static final int VSYNC_TIMESTAMP = 11;
    public static final int GPU_DURATION = 12;
    public static final int DEADLINE = 13;

    private final long[] values;

    /** {@code values} by the numbers above. */
    public FrameMetrics(long[] values) {
        this.values = values.clone();
    }

    public FrameMetrics(FrameMetrics other) {
        this(other.values);
    }

    public long getMetric(int id) {
        int last =
                android.os.Build.VERSION.SDK_INT >= 31
                        ? DEADLINE
                        : android.os.Build.VERSION.SDK_INT >= 26 ? VSYNC_TIMESTAMP : FIRST_DRAW_FRAME;
        return id < 0 || id > last ? -1 : values[id];
    }
}
