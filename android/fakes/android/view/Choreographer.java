package android.view;

import android.os.Build;
import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import android.util.Log;
import host.Clock;
import host.Vsync;

/**
 * Runs callbacks at vsyncs, stage by stage. Its internal members have AOSP's names, because on older systems code that
 * follows its queues finds them by these names; {@link #hostDenied} simulates a system that denies access.
 */
public final class Choreographer {
    public static final int CALLBACK_INPUT = 0;
    public static final int CALLBACK_ANIMATION = 1;
    /** API 30; below, TRAVERSAL has this number and COMMIT (API 23) the next one. */
    public static final int CALLBACK_INSETS_ANIMATION = 2;

    private static final int MSG_DO_FRAME = 0;
    private static final int MSG_DO_SCHEDULE_VSYNC = 1;
    private static final int MSG_DO_SCHEDULE_CALLBACK = 2;

    private static final Object FRAME_CALLBACK_TOKEN = new Object();

    private static final ThreadLocal<Choreographer> INSTANCES = new ThreadLocal<Choreographer>() {
        @Override
        protected Choreographer initialValue() {
            Looper looper = Looper.myLooper();
            if (looper == null) {
                throw new IllegalStateException("The current thread must have a looper!");
            }
            return new Choreographer(looper);
        }
    };

    private final Object mLock = new Object();
    private final Looper mLooper;
    private final FrameHandler mHandler;
    private final FrameDisplayEventReceiver mDisplayEventReceiver;
    /** Has AOSP's name, since the library follows it on older systems. */
    private CallbackQueue[] mCallbackQueues;
    private boolean mFrameScheduled;
    private long mLastFrameTimeNanos = Long.MIN_VALUE;
    private long mFrameIntervalNanos;
    /** API 23. */
    FrameInfo mFrameInfo = Build.VERSION.SDK_INT >= 23 ? new FrameInfo() : null;

    /** Simulates a system that rejects times in the past. */
    public boolean hostStrict;

    /** Number of requested vsyncs. */
    public int hostVsyncs;

    /**
     * Number of frames to postpone: doFrame requests another vsync and draws nothing. AOSP's FPS divisor does so from
     * API 26 on (setFPSDivisor), its recovery from buffer stuffing from 36 on (DELAY_FRAME); a frame whose time goes
     * backward (all levels) is treated alike.
     */
    public int hostPutOff;

    /**
     * Number of Choreographers created. Each makes calls to the system on the thread that creates it: the constructor
     * reads the refresh rate (getRefreshRate, DisplayManagerGlobal.getDisplayInfo, a binder call) and opens a
     * connection for vsyncs (DisplayEventReceiver.nativeInit), all levels.
     */
    private static int requested;

    public static synchronized int hostRequestedVsyncs() {
        return requested;
    }

    private static synchronized void ask() {
        requested++;
    }

    private Choreographer(Looper looper) {
        ask();
        mLooper = looper;
        mHandler = new FrameHandler(looper);
        mDisplayEventReceiver = new FrameDisplayEventReceiver();
        mFrameIntervalNanos = Vsync.intervalNs();
        mCallbackQueues = new CallbackQueue[hostStages()];
        for (int i = 0; i < mCallbackQueues.length; i++) {
            mCallbackQueues[i] = new CallbackQueue();
        }
    }

    public static Choreographer getInstance() {
        return INSTANCES.get();
    }

    /** Number of queues at this API level. */
    public static int hostStages() {
        return Build.VERSION.SDK_INT >= 30 ? 5 : Build.VERSION.SDK_INT >= 23 ? 4 : 3;
    }

    /** The number of TRAVERSAL at this API level. */
    public static int hostTraversal() {
        return Build.VERSION.SDK_INT >= 30 ? 3 : 2;
    }

    /** From now on this system denies access to its queues: their field is null. */
    public void hostDenied() {
        hidden = mCallbackQueues;
        mCallbackQueues = null;
    }

    /** The queues that {@link #hostDenied} hides, in a field of another name. */
    private CallbackQueue[] queues() {
        return mCallbackQueues != null ? mCallbackQueues : hidden;
    }

    private CallbackQueue[] hidden;

    /** Callbacks that wait in a queue. */
    public int hostWaiting(int type) {
        synchronized (mLock) {
            int waiting = 0;
            for (CallbackRecord at = queues()[type].mHead; at != null; at = at.next) {
                waiting++;
            }
            return waiting;
        }
    }

    public interface FrameCallback {
        void doFrame(long frameTimeNanos);
    }

    public void postCallback(int type, Runnable action, Object token) {
        post(type, action, token, 0);
    }

    public void postCallbackDelayed(int type, Runnable action, Object token, long delayMs) {
        post(type, action, token, delayMs);
    }

    public void postFrameCallback(FrameCallback callback) {
        postFrameCallbackDelayed(callback, 0);
    }

    public void postFrameCallbackDelayed(FrameCallback callback, long delayMs) {
        if (callback == null) {
            throw new IllegalArgumentException("callback must not be null");
        }
        if (hostStrict && delayMs < 0) {
            throw new IllegalArgumentException("delay must not be negative");
        }
        post(CALLBACK_ANIMATION, callback, FRAME_CALLBACK_TOKEN, delayMs);
    }

    public void removeFrameCallback(FrameCallback callback) {
        if (callback == null) {
            throw new IllegalArgumentException("callback must not be null");
        }
        removeCallbacks(CALLBACK_ANIMATION, callback, FRAME_CALLBACK_TOKEN);
    }

    public void removeCallbacks(int type, Object action, Object token) {
        synchronized (mLock) {
            queues()[type].removeCallbacksLocked(action, token);
        }
    }

    private void post(int type, Object action, Object token, long delayMs) {
        synchronized (mLock) {
            long now = Clock.nanos() / 1_000_000L;
            long due = now + delayMs;
            queues()[type].addCallbackLocked(due, action, token);
            if (due <= now) {
                scheduleFrameLocked();
            } else {
                Message message = mHandler.obtainMessage(MSG_DO_SCHEDULE_CALLBACK);
                message.arg1 = type;
                message.setAsynchronous(true);
                mHandler.sendMessageAtTime(message, due);
            }
        }
    }

    private void scheduleFrameLocked() {
        if (!mFrameScheduled) {
            mFrameScheduled = true;
            if (Looper.myLooper() == mLooper) {
                scheduleVsyncLocked();
            } else {
                Message message = mHandler.obtainMessage(MSG_DO_SCHEDULE_VSYNC);
                message.setAsynchronous(true);
                mHandler.sendMessageAtFrontOfQueue(message);
            }
        }
    }

    private void scheduleVsyncLocked() {
        hostVsyncs++;
        mDisplayEventReceiver.scheduleVsync();
    }

    void doFrame(long frameTimeNanos) {
        synchronized (mLock) {
            if (!mFrameScheduled) {
                return;
            }
            long intended = frameTimeNanos;
            long start = Clock.nanos();
            long late = start - frameTimeNanos;
            mFrameIntervalNanos = Vsync.intervalNs();
            if (late >= mFrameIntervalNanos) {
                // The frame gets the newest vsync, not the one that it was requested for.
                frameTimeNanos = start - late % mFrameIntervalNanos;
            }
            if (frameTimeNanos < mLastFrameTimeNanos || hostPutOff > 0) {
                hostPutOff = Math.max(0, hostPutOff - 1);
                scheduleVsyncLocked();
                return;
            }
            if (mFrameInfo != null) {
                mFrameInfo.setVsync(intended, frameTimeNanos);
            }
            mFrameScheduled = false;
            mLastFrameTimeNanos = frameTimeNanos;
        }
        if (mFrameInfo != null) {
            mFrameInfo.mark(FrameInfo.HANDLE_INPUT_START);
        }
        doCallbacks(CALLBACK_INPUT, frameTimeNanos);
        if (mFrameInfo != null) {
            mFrameInfo.mark(FrameInfo.ANIMATION_START);
        }
        for (int type = CALLBACK_ANIMATION; type < hostStages(); type++) {
            if (type == hostTraversal() && mFrameInfo != null) {
                mFrameInfo.mark(FrameInfo.PERFORM_TRAVERSALS_START);
            }
            doCallbacks(type, frameTimeNanos);
        }
    }

    private void doCallbacks(int type, long frameTimeNanos) {
        CallbackRecord due;
        synchronized (mLock) {
            due = queues()[type].extractDueCallbacksLocked(Clock.nanos() / 1_000_000L);
        }
        for (CallbackRecord at = due; at != null; at = at.next) {
            if (at.token == FRAME_CALLBACK_TOKEN) {
                ((FrameCallback) at.action).doFrame(frameTimeNanos);
            } else {
                ((Runnable) at.action).run();
            }
        }
        synchronized (mLock) {
            while (due != null) {
                CallbackRecord done = due;
                due = done.next;
                recycleLocked(done);
            }
        }
    }

    /** Records that are reused: a callback allocates nothing. */
    private CallbackRecord mCallbackPool;

    private CallbackRecord obtainLocked() {
        CallbackRecord record = mCallbackPool;
        if (record == null) {
            return new CallbackRecord();
        }
        mCallbackPool = record.next;
        record.next = null;
        return record;
    }

    private void recycleLocked(CallbackRecord record) {
        record.action = null;
        record.token = null;
        record.next = mCallbackPool;
        mCallbackPool = record;
    }

    private final class FrameHandler extends Handler {
        FrameHandler(Looper looper) {
            super(looper);
        }

        @Override
        public void handleMessage(Message message) {
            switch (message.what) {
                case MSG_DO_FRAME:
                    doFrame(Clock.nanos());
                    break;
                case MSG_DO_SCHEDULE_VSYNC:
                    synchronized (mLock) {
                        if (mFrameScheduled) {
                            scheduleVsyncLocked();
                        }
                    }
                    break;
                case MSG_DO_SCHEDULE_CALLBACK:
                    synchronized (mLock) {
                        if (!mFrameScheduled
                                && queues()[message.arg1].hasDueCallbacksLocked(Clock.nanos() / 1_000_000L)) {
                            scheduleFrameLocked();
                        }
                    }
                    break;
                default:
            }
        }
    }

    /**
     * Each request gets one vsync, which native code delivers from the poll
     * (core/jni/android_view_DisplayEventReceiver.cpp, libgui DisplayEventDispatcher.cpp: scheduleVsync does nothing
     * while it waits for one); the frame is a message after that.
     */
    private final class FrameDisplayEventReceiver implements Runnable {
        private boolean waiting;
        private boolean mHavePendingVsync;
        private long mTimestampNanos;

        void scheduleVsync() {
            if (waiting) {
                return;
            }
            waiting = true;
            final long vsync = Vsync.after(Clock.nanos());
            mLooper.getQueue()
                    .hostNative(
                            vsync,
                            new Runnable() {
                                @Override
                                public void run() {
                                    waiting = false;
                                    dispatchVsync(vsync);
                                }
                            });
        }

        /** Called from native code. */
        void dispatchVsync(long timestampNanos) {
            onVsync(timestampNanos);
        }

        private void onVsync(long timestampNanos) {
            if (mHavePendingVsync) {
                Log.w("Choreographer", "Already have a pending vsync event.  There should only be one at a time.");
            } else {
                mHavePendingVsync = true;
            }
            mTimestampNanos = timestampNanos;
            // Messages that were due before the vsync come first.
            Message message = Message.obtain(mHandler, this);
            message.setAsynchronous(true);
            mHandler.sendMessageAtTime(message, timestampNanos / 1_000_000L);
        }

        @Override
        public void run() {
            mHavePendingVsync = false;
            doFrame(mTimestampNanos);
        }
    }

    /**
     * Delivers a vsync that was not requested: DisplayEventDispatcher::handleEvent makes one up after a time-out, and
     * the real one comes later (frameworks/native libs/gui/DisplayEventDispatcher.cpp, API 30). From any thread.
     */
    public void hostUnexpectedVsync() {
        mLooper.getQueue()
                .hostNative(
                        0,
                        new Runnable() {
                            @Override
                            public void run() {
                                mDisplayEventReceiver.dispatchVsync(Clock.nanos());
                            }
                        });
    }

    private static final class CallbackRecord {
        CallbackRecord next;
        long dueTime;
        Object action;
        Object token;
    }

    /** In order of time; equal ones in order of arrival. */
    private final class CallbackQueue {
        private CallbackRecord mHead;

        boolean hasDueCallbacksLocked(long now) {
            return mHead != null && mHead.dueTime <= now;
        }

        CallbackRecord extractDueCallbacksLocked(long now) {
            CallbackRecord due = null;
            CallbackRecord last = null;
            while (hasDueCallbacksLocked(now)) {
                CallbackRecord taken = mHead;
                mHead = taken.next;
                taken.next = null;
                if (last == null) {
                    due = taken;
                } else {
                    last.next = taken;
                }
                last = taken;
            }
            return due;
        }

        public void addCallbackLocked(long dueTime, Object action, Object token) {
            CallbackRecord added = obtainLocked();
            added.dueTime = dueTime;
            added.action = action;
            added.token = token;
            if (mHead == null || dueTime < mHead.dueTime) {
                added.next = mHead;
                mHead = added;
                return;
            }
            CallbackRecord at = mHead;
            while (at.next != null && at.next.dueTime <= dueTime) {
                at = at.next;
            }
            added.next = at.next;
            at.next = added;
        }

        public void removeCallbacksLocked(Object action, Object token) {
            CallbackRecord before = null;
            for (CallbackRecord at = mHead; at != null; at = at.next) {
                if ((action == null || at.action == action) && (token == null || at.token == token)) {
                    if (before == null) {
                        mHead = at.next;
                    } else {
                        before.next = at.next;
                    }
                } else {
                    before = at;
                }
            }
        }
    }

    /** The last delivered vsync, which FrameInfo (API 23) takes for its frame. */
    long hostVsync() {
        return mDisplayEventReceiver.mTimestampNanos;
    }
}
