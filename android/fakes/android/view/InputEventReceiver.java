package android.view;

import android.os.Looper;
import android.os.MessageQueue;
import java.util.ArrayDeque;

/**
 * A window's end of its input channel (core/java/android/view/InputEventReceiver.java). Native code calls {@link
 * #dispatchInputEvent} out of {@code MessageQueue.nativePollOnce}, in no message
 * (core/jni/android_view_InputEventReceiver.cpp, NativeInputEventReceiver::handleEvent, all levels). Only moves are
 * batched: they wait for the frame that consumes them, in its message.
 */
public abstract class InputEventReceiver {
    private final MessageQueue mMessageQueue;
    private final ArrayDeque<InputEvent> batch = new ArrayDeque<InputEvent>();
    private int seq;

    public InputEventReceiver(Looper looper) {
        mMessageQueue = looper.getQueue();
    }

    public abstract void onInputEvent(InputEvent event);

    public abstract void onBatchedInputEventPending();

    /** Delivers an event to the channel. From any thread. */
    public final void hostReceive(final InputEvent event) {
        mMessageQueue.hostNative(
                0,
                new Runnable() {
                    @Override
                    public void run() {
                        received(event);
                    }
                });
    }

    private void received(InputEvent event) {
        if (event instanceof MotionEvent) {
            if (((MotionEvent) event).getAction() == MotionEvent.ACTION_MOVE) {
                batch.add(event);
                dispatchBatchedInputEventPending();
                return;
            }
            // It ends the batch, which is consumed before it (libinput InputTransport.cpp, InputConsumer::consume).
            consumeBatchedInputEvents(-1);
        }
        dispatchInputEvent(seq++, event);
    }

    /** On the receiver's thread. Returns whether a batch was consumed. */
    public final boolean consumeBatchedInputEvents(long frameTimeNanos) {
        boolean consumed = !batch.isEmpty();
        while (!batch.isEmpty()) {
            dispatchInputEvent(seq++, batch.poll());
        }
        return consumed;
    }

    /** Called from native code. */
    private void dispatchInputEvent(int seq, InputEvent event) {
        onInputEvent(event);
    }

    /** Called from native code; by this name up to API 29, as onBatchedInputEventPending from 30 on. */
    private void dispatchBatchedInputEventPending() {
        onBatchedInputEventPending();
    }
}
