package android.app;

import android.app.servertransaction.ClientTransaction;
import android.app.servertransaction.ClientTransactionItem;
import android.app.servertransaction.ConfigurationChangeItem;
import android.app.servertransaction.LaunchActivityItem;
import android.content.BroadcastReceiver;
import android.content.ContentProvider;
import android.content.Context;
import android.content.Intent;
import android.content.pm.ActivityInfo;
import android.content.pm.ServiceInfo;
import android.os.BinderProxy;
import android.os.Build;
import android.os.Bundle;
import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import android.view.Window;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

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
    private final Map<Object, Service> services = new HashMap<Object, Service>();

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
        public static final int SERVICE_ARGS = 115;
        public static final int STOP_SERVICE = 116;
        public static final int BIND_SERVICE = 121;
        public static final int UNBIND_SERVICE = 122;
        public static final int EXECUTE_TRANSACTION = 159;

        @Override
        public void handleMessage(Message message) {
            if (message.what == EXECUTE_TRANSACTION) {
                for (ClientTransactionItem item : ((ClientTransaction) message.obj).hostItems()) {
                    item.hostExecute();
                }
            } else {
                boolean isRecord = message.obj != null && !(message.obj instanceof Runnable);
                if (!isRecord && Build.VERSION.SDK_INT <= 25 && stops(message.what)) {
                    QueuedWork.waitToFinish();
                }
                if (!isRecord && message.obj != null) {
                    ((Runnable) message.obj).run();
                } else if (isRecord) {
                    handle(message.what, message.obj);
                }
            }
        }
    }

    private void handle(int what, Object data) {
        switch (what) {
            case H.RECEIVER:
                handleReceiver((ReceiverData) data);
                break;
            case H.CREATE_SERVICE:
                handleCreateService((CreateServiceData) data);
                break;
            case H.SERVICE_ARGS:
                handleServiceArgs((ServiceArgsData) data);
                break;
            case H.STOP_SERVICE:
                handleStopService(data);
                break;
            case H.BIND_SERVICE:
                handleBindService((BindServiceData) data);
                break;
            case H.UNBIND_SERVICE:
                handleUnbindService((BindServiceData) data);
                break;
            default:
                throw new AssertionError(what);
        }
    }

    // AOSP core/java/android/app/ActivityThread.java: names of the methods as at API 21 to 34. There a receiver and a
    // service are created here by their names. At each level a service's command and its end wait for QueuedWork.

    private void handleReceiver(ReceiverData data) {
        data.hostReceiver.onReceive(application, data.intent);
    }

    private void handleCreateService(CreateServiceData data) {
        services.put(data.token, data.hostService);
        data.hostService.onCreate();
    }

    private void handleServiceArgs(ServiceArgsData data) {
        services.get(data.token).onStartCommand(data.args, 0, data.startId);
        QueuedWork.waitToFinish();
    }

    private void handleStopService(Object token) {
        services.remove(token).onDestroy();
        QueuedWork.waitToFinish();
    }

    private void handleBindService(BindServiceData data) {
        services.get(data.token).onBind(data.intent);
    }

    private void handleUnbindService(BindServiceData data) {
        services.get(data.token).onUnbind(data.intent);
    }

    // The records: names, fields and texts of AOSP's, read in copies of API 21, 28 or 29, 33, 34 and 36 (the last one with
    // mOptions, perhaps not of 36's first release). Not read: 35, which is taken to be as 34.

    static final class ReceiverData extends BroadcastReceiver.PendingResult {
        Intent intent;
        ActivityInfo info;
        BroadcastReceiver hostReceiver;

        ReceiverData(Intent intent, Bundle resultExtras) {
            super(-1, null, resultExtras, resultExtras != null);
            this.intent = intent;
        }

        @Override
        public String toString() {
            String sent = Build.VERSION.SDK_INT < 34 ? "" : " sentFromUid=-1 sentFromPackage=null";
            sent += Build.VERSION.SDK_INT < 36 ? "" : " mOptions=null";
            return "ReceiverData{intent=" + intent + " packageName=" + info.packageName + " resultCode="
                    + getResultCode() + " resultData=" + getResultData() + " resultExtras=" + getResultExtras(false)
                    + sent + "}";
        }
    }

    static final class CreateServiceData {
        Object token;
        ServiceInfo info;
        Intent intent;
        Service hostService;

        @Override
        public String toString() {
            return "CreateServiceData{token=" + token + " className=" + info.name + " packageName=" + info.packageName
                    + " intent=" + intent + "}";
        }
    }

    static final class BindServiceData {
        Object token;
        Intent intent;
        long bindSeq;

        @Override
        public String toString() {
            String seq = Build.VERSION.SDK_INT < 34 ? "" : " bindSeq=" + bindSeq;
            return "BindServiceData{token=" + token + " intent=" + intent + seq + "}";
        }
    }

    static final class ServiceArgsData {
        Object token;
        int startId;
        Intent args;

        @Override
        public String toString() {
            return "ServiceArgsData{token=" + token + " startId=" + startId + " args=" + args + "}";
        }
    }

    /** The record of a broadcast for a receiver in the manifest; {@code extras}: of an ordered one's result. */
    public static Object hostReceiver(BroadcastReceiver receiver, Intent intent, ActivityInfo info, Bundle extras) {
        ReceiverData data = new ReceiverData(intent, extras);
        data.info = info;
        data.hostReceiver = receiver;
        return data;
    }

    /** The record of a service that is to be created. */
    public static Object hostCreateService(Service service, BinderProxy token, ServiceInfo info) {
        CreateServiceData data = new CreateServiceData();
        data.token = token;
        data.info = info;
        data.hostService = service;
        return data;
    }

    /** The record of an intent for the service with this token. */
    public static Object hostServiceArgs(BinderProxy token, Intent args) {
        ServiceArgsData data = new ServiceArgsData();
        data.token = token;
        data.startId = 1;
        data.args = args;
        return data;
    }

    /** The record of a binding to the service with this token, or of its end. */
    public static Object hostBindService(BinderProxy token, Intent intent) {
        BindServiceData data = new BindServiceData();
        data.token = token;
        data.intent = intent;
        return data;
    }

    /** Sends a record to main, as the system's call does on a Binder thread. */
    public void hostSchedule(int what, Object record) {
        mH.sendMessage(mH.obtainMessage(what, record));
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
