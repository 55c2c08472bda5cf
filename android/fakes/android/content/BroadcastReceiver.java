package android.content;

import android.os.Bundle;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

public abstract class BroadcastReceiver {
    /** The pending result of a broadcast. */
    public static class PendingResult {
        private final boolean ordered;
        private final CountDownLatch finished = new CountDownLatch(1);
        private int code;
        private String data;
        private Bundle extras;

        PendingResult(boolean ordered) {
            this.ordered = ordered;
        }

        /** AOSP core/java/android/content/BroadcastReceiver.java: public and hidden, with more parameters. */
        protected PendingResult(int code, String data, Bundle extras, boolean ordered) {
            this.code = code;
            this.data = data;
            this.extras = extras;
            this.ordered = ordered;
        }

        public final int getResultCode() {
            return code;
        }

        public final String getResultData() {
            return data;
        }

        public final Bundle getResultExtras(boolean makeMap) {
            if (extras == null && makeMap) {
                extras = new Bundle();
            }
            return extras;
        }

        public final void setResult(int code, String data, Bundle extras) {
            if (!ordered) {
                throw new IllegalStateException("a result of a broadcast that is not ordered");
            }
            this.code = code;
            this.data = data;
            this.extras = extras;
        }

        public final void finish() {
            finished.countDown();
        }
    }

    private PendingResult pending;

    public abstract void onReceive(Context context, Intent intent);

    /** As on Android, the broadcast no longer belongs to the receiver from here on. */
    public final PendingResult goAsync() {
        PendingResult taken = pending;
        pending = null;
        return taken;
    }

    public final boolean isOrderedBroadcast() {
        return pending != null && pending.ordered;
    }

    public final void setResult(int code, String data, Bundle extras) {
        pending.setResult(code, data, extras);
    }

    /** On main, as the system delivers it; the returned future waits for the result on another thread. */
    public java.util.function.Supplier<String> hostReceive(Context context, Intent intent, boolean ordered) {
        PendingResult result = new PendingResult(ordered);
        pending = result;
        onReceive(context, intent);
        if (pending != null) {
            result.finish();
        }
        return () -> {
            try {
                if (!result.finished.await(30, TimeUnit.SECONDS)) {
                    throw new AssertionError("the broadcast is never finished");
                }
            } catch (InterruptedException never) {
                throw new AssertionError(never);
            }
            return "result=" + result.code + (result.data == null ? "" : ", data=\"" + result.data + "\"");
        };
    }
}
