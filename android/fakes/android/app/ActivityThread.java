package android.app;

import android.app.servertransaction.ClientTransaction;
import android.app.servertransaction.ClientTransactionItem;
import android.app.servertransaction.ConfigurationChangeItem;
import android.app.servertransaction.LaunchActivityItem;
import android.content.ContentProvider;
import android.content.Context;
import android.os.Build;
import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import android.view.Window;
import java.util.ArrayList;
import java.util.List;

/** Main's part of the system: creates the application and its activities, by messages with AOSP's numbers. */
public final class ActivityThread {
    private static volatile ActivityThread sCurrentActivityThread;
    /** Whether {@link #currentActivityThread} may be called: it is hidden, and denied to some apps. */
    public static boolean hostDenied;

    /** The context that providers get if it is not the application: plug-in frameworks wrap it. */
    public static Context hostContext;

    final H mH = new H();
    private Application application;
    private final List<Activity> living = new ArrayList<Activity>();

    private ActivityThread() {}

    public static ActivityThread currentActivityThread() {
        if (hostDenied) {
            throw new SecurityException("Accessing hidden method (blocked)");
        }
        return sCurrentActivityThread;
    }

    class H extends Handler {
        public static final int LAUNCH_ACTIVITY = 100;
        public static final int BIND_APPLICATION = 110;
        public static final int RECEIVER = 113;
        public static final int CREATE_SERVICE = 114;
        public static final int EXECUTE_TRANSACTION = 159;

        @Override
        public void handleMessage(Message message) {
            if (message.what == EXECUTE_TRANSACTION) {
                for (ClientTransactionItem item : ((ClientTransaction) message.obj).hostItems()) {
                    item.hostExecute();
                }
            } else {
                if (Build.VERSION.SDK_INT <= 25 && stops(message.what)) {
                    QueuedWork.waitToFinish();
                }
                if (message.obj != null) {
                    ((Runnable) message.obj).run();
                }
            }
        }
    }

    private static boolean stops(int what) {
        return what == 103 || what == 104 || what == 115 || what == 116 || what == 137;
    }

    /**
     * The process starts, on the calling thread: main. Returns before anything is created; {@code Looper.loop} creates
     * it.
     */
    public static ActivityThread hostMain(final Application application, final ContentProvider... providers) {
        Looper.prepareMainLooper();
        final ActivityThread thread = new ActivityThread();
        sCurrentActivityThread = thread;
        thread.hostSend(
                H.BIND_APPLICATION,
                new Runnable() {
                    @Override
                    public void run() {
                        thread.application = application;
                        for (ContentProvider provider : providers) {
                            provider.hostAttach(hostContext == null ? application : hostContext);
                        }
                        application.onCreate();
                    }
                });
        return thread;
    }

    /** Sends a message of H with this work. */
    public void hostSend(int what, Runnable work) {
        mH.sendMessage(mH.obtainMessage(what, work));
    }

    public Handler hostHandler() {
        return mH;
    }

    /**
     * Launches the activity with the message of this system's version. {@code before}: the transaction has another item
     * first.
     */
    public void hostLaunch(final Activity activity, boolean before) {
        Runnable launch =
                new Runnable() {
                    @Override
                    public void run() {
                        activity.attach(application);
                        living.add(activity);
                        activity.performCreate();
                        activity.onStart();
                        resume(activity);
                    }
                };
        Runnable nothing =
                new Runnable() {
                    @Override
                    public void run() {}
                };
        if (Build.VERSION.SDK_INT < 28) {
            hostSend(H.LAUNCH_ACTIVITY, launch);
            return;
        }
        ClientTransaction transaction = new ClientTransaction();
        if (before) {
            transaction.add(new ConfigurationChangeItem(nothing));
        }
        transaction.add(new LaunchActivityItem(launch));
        mH.sendMessage(mH.obtainMessage(H.EXECUTE_TRANSACTION, transaction));
    }

    private void resume(Activity activity) {
        activity.onResume();
        // Its view is drawn, and then gets the focus.
        activity.getWindow().getDecorView().invalidate();
    }

    /** Sends a transaction or message that launches nothing. */
    private void change(Runnable work) {
        if (Build.VERSION.SDK_INT >= 28) {
            mH.sendMessage(
                    mH.obtainMessage(
                            H.EXECUTE_TRANSACTION, new ClientTransaction().add(new ConfigurationChangeItem(work))));
        } else {
            hostSend(107, work);
        }
    }

    public void hostPause(final Activity activity) {
        change(
                new Runnable() {
                    @Override
                    public void run() {
                        activity.onPause();
                    }
                });
    }

    public void hostStop(final Activity activity) {
        change(
                new Runnable() {
                    @Override
                    public void run() {
                        activity.onStop();
                    }
                });
    }

    public void hostRestart(final Activity activity) {
        change(
                new Runnable() {
                    @Override
                    public void run() {
                        activity.onStart();
                        resume(activity);
                    }
                });
    }

    public void hostDestroy(final Activity activity) {
        change(
                new Runnable() {
                    @Override
                    public void run() {
                        activity.onDestroy();
                        living.remove(activity);
                    }
                });
    }

    /** The window's focus changes: a message of the window, to its callback. */
    public void hostFocus(final Activity activity, final boolean gained) {
        mH.post(
                new Runnable() {
                    @Override
                    public void run() {
                        Window.Callback callback = activity.getWindow().getCallback();
                        callback.onWindowFocusChanged(gained);
                    }
                });
    }
}
