package android.view;

import android.graphics.Canvas;
import android.os.Build;
import android.os.Looper;
import host.Clock;

/** Measures and draws a tree of views in the TRAVERSAL stage of a frame, on the thread that created it. */
public final class ViewRootImpl {
    private final View view;
    private final Window window;
    private final Choreographer choreographer = Choreographer.getInstance();
    private final WindowInputEventReceiver receiver = new WindowInputEventReceiver(Looper.myLooper());
    private boolean scheduled;
    private boolean drawn;
    private int barrier;
    /** Duration of a frame on the render thread and the GPU, ns, and the pipeline after main. */
    public long hostSyncNs;
    public long hostCommandNs;
    public long hostSwapNs;
    public long hostGpuNs;
    /** Frames drawn. */
    public int hostFrames;

    private final Runnable traversal = new Runnable() {
        @Override
        public void run() {
            perform();
        }
    };

    /** {@code window} is null for a view that is a window by itself. */
    public ViewRootImpl(View view, Window window) {
        this.view = view;
        this.window = window;
        view.root = this;
    }

    void schedule() {
        if (!scheduled) {
            scheduled = true;
            barrier = Looper.myQueue().postSyncBarrier();
            choreographer.postCallback(Choreographer.hostTraversal(), traversal, null);
        }
    }

    /**
     * A window's input (ViewRootImpl.java, WindowInputEventReceiver and enqueueInputEvent with processImmediately, all
     * levels).
     */
    private final class WindowInputEventReceiver extends InputEventReceiver {
        private boolean mConsumeBatchedInputScheduled;

        private final Runnable mConsumedBatchedInputRunnable = new Runnable() {
            @Override
            public void run() {
                mConsumeBatchedInputScheduled = false;
                consumeBatchedInputEvents(choreographer.hostVsync());
            }
        };

        WindowInputEventReceiver(Looper looper) {
            super(looper);
        }

        @Override
        public void onInputEvent(InputEvent event) {
            enqueueInputEvent(event);
        }

        /** Moves wait for the next frame's INPUT stage. */
        @Override
        public void onBatchedInputEventPending() {
            if (!mConsumeBatchedInputScheduled) {
                mConsumeBatchedInputScheduled = true;
                choreographer.postCallback(Choreographer.CALLBACK_INPUT, mConsumedBatchedInputRunnable, null);
            }
        }
    }

    private void enqueueInputEvent(InputEvent event) {
        deliverInputEvent(event);
    }

    private void deliverInputEvent(InputEvent event) {
        if (view.root != this) {
            return;
        }
        if (event instanceof KeyEvent) {
            processKeyEvent((KeyEvent) event);
        } else {
            processPointerEvent((MotionEvent) event);
        }
    }

    private boolean processKeyEvent(KeyEvent event) {
        return view.dispatchKeyEvent(event);
    }

    private boolean processPointerEvent(MotionEvent event) {
        if (choreographer.mFrameInfo != null) {
            long ns = event.getEventTime() * 1_000_000L;
            choreographer.mFrameInfo.updateInputEventTime(ns, ns);
        }
        return view.dispatchPointerEvent(event);
    }

    /** Delivers input to this window. From any thread. */
    public void hostReceive(InputEvent event) {
        receiver.hostReceive(event);
    }

    boolean isScheduled() {
        return scheduled;
    }

    /** The window is gone. */
    public void hostClose() {
        if (scheduled) {
            scheduled = false;
            Looper.myQueue().removeSyncBarrier(barrier);
            choreographer.removeCallbacks(Choreographer.hostTraversal(), traversal, null);
        }
        view.root = null;
    }

    private void perform() {
        if (!scheduled) {
            return;
        }
        scheduled = false;
        Looper.myQueue().removeSyncBarrier(barrier);
        view.measure(0, 0);
        view.layout(0, 0, view.getMeasuredWidth(), view.getMeasuredHeight());
        if (!view.getViewTreeObserver().dispatchOnPreDraw()) {
            schedule();
            return;
        }
        FrameInfo info = choreographer.mFrameInfo;
        long drawStart = Clock.nanos();
        if (info != null) {
            info.mark(FrameInfo.DRAW_START);
        }
        view.getViewTreeObserver().dispatchOnDraw();
        view.draw(new Canvas());
        hostFrames++;
        long drawEnd = Clock.nanos();
        // Main waits for the sync.
        if (hostSyncNs > 0) {
            host.Vsync.await(drawEnd + hostSyncNs);
        }
        long synced = Clock.nanos();
        if (window != null && info != null && Build.VERSION.SDK_INT >= 24) {
            long[] begun = info.mFrameInfo;
            long[] values = new long[14];
            values[FrameMetrics.UNKNOWN_DELAY_DURATION] =
                    begun[FrameInfo.HANDLE_INPUT_START] - begun[FrameInfo.INTENDED_VSYNC];
            values[FrameMetrics.INPUT_HANDLING_DURATION] =
                    begun[FrameInfo.ANIMATION_START] - begun[FrameInfo.HANDLE_INPUT_START];
            values[FrameMetrics.ANIMATION_DURATION] =
                    begun[FrameInfo.PERFORM_TRAVERSALS_START] - begun[FrameInfo.ANIMATION_START];
            values[FrameMetrics.LAYOUT_MEASURE_DURATION] = drawStart - begun[FrameInfo.PERFORM_TRAVERSALS_START];
            values[FrameMetrics.DRAW_DURATION] = drawEnd - drawStart;
            values[FrameMetrics.SYNC_DURATION] = synced - drawEnd;
            values[FrameMetrics.COMMAND_ISSUE_DURATION] = hostCommandNs;
            values[FrameMetrics.SWAP_BUFFERS_DURATION] = hostSwapNs;
            values[FrameMetrics.TOTAL_DURATION] =
                    synced + hostCommandNs + hostSwapNs - begun[FrameInfo.INTENDED_VSYNC];
            values[FrameMetrics.FIRST_DRAW_FRAME] = drawn ? 0 : 1;
            values[FrameMetrics.INTENDED_VSYNC_TIMESTAMP] = begun[FrameInfo.INTENDED_VSYNC];
            values[FrameMetrics.VSYNC_TIMESTAMP] = begun[FrameInfo.VSYNC];
            values[FrameMetrics.GPU_DURATION] = hostGpuNs;
            values[FrameMetrics.DEADLINE] = host.Vsync.intervalNs();
            window.hostShown(new FrameMetrics(values));
        }
        drawn = true;
    }

    /** The vsync that main's current frame was requested for. */
    public static long hostIntended() {
        Choreographer choreographer = Choreographer.getInstance();
        FrameInfo info = choreographer.mFrameInfo;
        return info == null ? choreographer.hostVsync() : info.mFrameInfo[FrameInfo.INTENDED_VSYNC];
    }

    /** Input handled in the frame: to be set inside its INPUT stage, by CLOCK_MONOTONIC in ns. */
    public static void hostInput(long oldest, long newest) {
        FrameInfo info = Choreographer.getInstance().mFrameInfo;
        if (info != null) {
            info.updateInputEventTime(newest, oldest);
        }
    }
}
