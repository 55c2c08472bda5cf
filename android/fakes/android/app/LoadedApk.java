package android.app;

import android.content.BroadcastReceiver;
import android.content.Context;
import android.content.Intent;
import android.os.Build;
import android.os.Handler;

/**
 * How a receiver that the app registered gets a broadcast: as a callback, not as a message of H
 * (core/java/android/app/LoadedApk.java).
 */
public final class LoadedApk {
    private LoadedApk() {}

    /** Posts a broadcast for the receiver to main. */
    public static void hostPost(Handler main, BroadcastReceiver receiver, Context context, Intent intent) {
        new ReceiverDispatcher(receiver, context, main).performReceive(intent);
    }

    static final class ReceiverDispatcher {
        final BroadcastReceiver mReceiver;
        final Context mContext;
        final Handler mActivityThread;

        ReceiverDispatcher(BroadcastReceiver receiver, Context context, Handler activityThread) {
            mReceiver = receiver;
            mContext = context;
            mActivityThread = activityThread;
        }

        /** Up to API 25 the Args are a Runnable, from 26 on they make one. Here the class is both. */
        void performReceive(Intent intent) {
            Args args = new Args(intent);
            mActivityThread.post(Build.VERSION.SDK_INT <= 25 ? args : args.getRunnable());
        }

        final class Args extends BroadcastReceiver.PendingResult implements Runnable {
            private final Intent mCurIntent;

            Args(Intent intent) {
                super(0, null, null, false);
                mCurIntent = intent;
            }

            Runnable getRunnable() {
                return () -> mReceiver.onReceive(mContext, mCurIntent);
            }

            @Override
            public void run() {
                mReceiver.onReceive(mContext, mCurIntent);
            }
        }
    }
}
