package dev.anrscope;

import android.app.ActivityThread;
import android.app.Application;
import android.app.LoadedApk;
import android.app.Service;
import android.app.SharedPreferencesImpl;
import android.content.BroadcastReceiver;
import android.content.ComponentName;
import android.content.Context;
import android.content.Intent;
import android.content.pm.ActivityInfo;
import android.content.pm.ServiceInfo;
import android.net.Uri;
import android.os.BinderProxy;
import android.os.Bundle;
import android.os.Looper;
import android.os.Parcelable;
import android.os.SystemClock;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Main hangs in a component of the app. Words: the number of H's message, the call, the report until which main hangs
 * ({@code LAG} or {@code ANR}), and options as KEY=VALUE; or {@code texts} for the records' descriptions alone.
 */
public final class ComponentLife {
    private static final String PACKAGE = "com.example.shop";
    private static final CountDownLatch REPORTED = new CountDownLatch(1);
    /** ConcurrencyStep::Submitted. */
    private static final int SUBMITTED = 2;

    /** The writes of the preferences are done. */
    private static final CountDownLatch WRITTEN = new CountDownLatch(1);

    private static final BinderProxy TOKEN = new BinderProxy();

    private ComponentLife() {}

    /** Main is busy until its stall is reported. */
    private static void hang() {
        try {
            REPORTED.await(30, TimeUnit.SECONDS);
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
    }

    /** The writes end when the stall is reported, and the recording has main's stack as a snapshot and as a sample. */
    private static void write() {
        String wait = "android.app.QueuedWork.waitToFinish(";
        try {
            REPORTED.await(30, TimeUnit.SECONDS);
            long until = System.nanoTime() + 30_000_000_000L;
            while (System.nanoTime() < until && recorded().split(java.util.regex.Pattern.quote(wait), -1).length < 3) {
                Thread.sleep(50);
            }
        } catch (Exception fault) {
            fault.printStackTrace();
        }
        WRITTEN.countDown();
    }

    /** The recording's bytes, each as a character. */
    private static String recorded() throws java.io.IOException {
        for (java.io.File file : new java.io.File(System.getProperty("anrscope.dir")).listFiles()) {
            if (file.getName().endsWith(".anrscope")) {
                return new String(java.nio.file.Files.readAllBytes(file.toPath()), java.nio.charset.StandardCharsets.ISO_8859_1);
            }
        }
        return "";
    }

    /** As instrumented with {@code --waits}: each call of apply() is a step with its line and method. */
    private static void save() {
        for (int call = 0; call < 3; call++) {
            SharedPreferencesImpl.EditorImpl editor = new SharedPreferencesImpl.EditorImpl(WRITTEN);
            MethodBeat.c(editor, null, SUBMITTED << 16 | (call < 2 ? 88 : 14), call < 2 ? 301 : 302);
            editor.apply();
        }
    }

    private static final class Push extends BroadcastReceiver {
        @Override
        public void onReceive(Context context, Intent intent) {
            hang();
        }
    }

    private static final class Sync extends Service {
        private final String hangs;

        Sync(String hangs) {
            this.hangs = hangs;
        }

        private void in(String call) {
            if (call.equals(hangs)) {
                hang();
            }
        }

        @Override
        public void onCreate() {
            in("create");
        }

        @Override
        public int onStartCommand(Intent intent, int flags, int startId) {
            in("start");
            return START_NOT_STICKY;
        }

        @Override
        public Object onBind(Intent intent) {
            in("bind");
            return null;
        }

        @Override
        public boolean onUnbind(Intent intent) {
            in("unbind");
            return false;
        }

        @Override
        public void onDestroy() {
            in("destroy");
        }
    }

    /** What an app may put into the result of an ordered broadcast; its toString is app code. */
    private static final class Card implements Parcelable {
        @Override
        public String toString() {
            System.out.println("described");
            return "card 4111";
        }
    }

    private static Intent to(String name) {
        Intent intent = new Intent("com.example.ACTION cmp=com.evil/.Fake");
        intent.setData(Uri.parse("https://example.com/token4111"));
        return intent.setComponent(new ComponentName(PACKAGE, name)).putExtra("card", "4111");
    }

    private static Object record(String call) {
        boolean foreground = !call.equals("background");
        Intent broadcast = to(PACKAGE + ".PushReceiver").addFlags(foreground ? 0x10000010 : 0x10);
        ActivityInfo receiver = new ActivityInfo(PACKAGE, PACKAGE + ".PushReceiver");
        switch (call) {
            case "create":
                return ActivityThread.hostCreateService(
                        new Sync(call), TOKEN, new ServiceInfo(PACKAGE, "com.example.sync.SyncService"));
            case "start":
                return ActivityThread.hostServiceArgs(TOKEN, to("com.example.sync.SyncService"));
            case "bind":
            case "unbind":
                return ActivityThread.hostBindService(TOKEN, to("com.example.sync.SyncService"));
            case "destroy":
            case "applied":
                return TOKEN;
            case "extras":
                Bundle extras = new Bundle();
                extras.putParcelable("card", new Card());
                return ActivityThread.hostReceiver(new Push(), broadcast, receiver, extras);
            case "fails":
                // A record that cannot describe itself: AOSP's would throw as well.
                return ActivityThread.hostReceiver(new Push(), broadcast, null, null);
            default:
                return ActivityThread.hostReceiver(new Push(), broadcast, receiver, null);
        }
    }

    public static void main(String[] words) throws Exception {
        if (words[0].equals("texts")) {
            for (String each : new String[] {"113 receive", "113 background", "114 create", "115 start", "121 bind", "122 unbind"}) {
                int what = Integer.parseInt(each.split(" ")[0]);
                Object record = record(each.split(" ")[1]);
                String text = record.toString();
                System.out.println("class " + record.getClass().getName());
                System.out.println("text " + text.replaceAll("@[0-9a-f]+", "@1"));
                System.out.println("name " + Components.name(what, text) + " " + Components.foreground(text));
            }
            return;
        }
        MethodBeat.i(1);
        TestOptions.set(words, 3, words.length);
        ActivityThread thread = ActivityThread.hostMain(new Application());
        Reports.start(
                json -> {
                    System.out.println("issue " + json);
                    if (json.contains("\"detail\":\"" + words[2] + "\"")) {
                        REPORTED.countDown();
                    }
                });
        System.out.println("observed " + StartMonitor.start());
        LooperMonitor.start();
        StackSampler.start();
        int what = Integer.parseInt(words[0]);
        String call = words[1];
        if (call.equals("applied")) {
            thread.hostHandler().post(ComponentLife::save);
            new Thread(ComponentLife::write, "queued-work-looper").start();
        }
        // The message waits for another one.
        thread.hostHandler().post(() -> SystemClock.sleep(60));
        if (call.equals("registered")) {
            LoadedApk.hostPost(thread.hostHandler(), new Push(), new Application(), new Intent("com.example.ACTION"));
        } else {
            if (what != 113 && what != 114) {
                thread.hostSchedule(
                        114,
                        ActivityThread.hostCreateService(
                                new Sync(call), TOKEN, new ServiceInfo(PACKAGE, "com.example.sync.SyncService")));
            }
            thread.hostSchedule(what, record(call));
        }
        Looper.hostRunDue();
        System.out.println("ended " + (REPORTED.getCount() == 0));
        LooperMonitor.stop();
        StackSampler.stop();
        Reports.stop();
        MethodBeat.o(1);
    }
}
