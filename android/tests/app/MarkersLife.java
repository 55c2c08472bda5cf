package dev.anrscope;

import android.app.ActivityManager;
import android.app.ApplicationExitInfo;
import android.content.Context;
import android.content.Intent;
import android.os.Handler;
import android.os.HandlerThread;
import android.os.Looper;
import android.os.Message;
import android.os.MessageQueue;
import android.util.Log;
import android.view.View;
import host.HostApp;
import java.io.File;
import java.nio.file.Files;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * An app that puts a marker, {@code zqmark} and two digits, in every text it can set; its ANR, its death, and the next
 * start, at which the system reports how it ended. Words: {@code lives} and the option {@code redact}; or {@code next},
 * the same, the first one's pid and a file with its trace. Prints what the app's listeners receive.
 */
public final class MarkersLife {
    private static final CountDownLatch ANR = new CountDownLatch(1);

    private MarkersLife() {}

    private static String mark(int place) {
        return "zqmark" + (place < 10 ? "0" : "") + place;
    }

    /** An object with its own description. */
    private static class Described {
        private final int place;

        Described(int place) {
            this.place = place;
        }

        @Override
        public String toString() {
            return mark(place) + " of an object";
        }
    }

    private static final class DescribedRun extends Described implements Runnable {
        DescribedRun(int place) {
            super(place);
        }

        @Override
        public void run() {}
    }

    private static final class DescribedIdler extends Described implements MessageQueue.IdleHandler {
        DescribedIdler(int place) {
            super(place);
        }

        @Override
        public boolean queueIdle() {
            throw new IllegalStateException(mark(12) + " thrown by an idle handler");
        }
    }

    private static final class DescribedHandler extends Handler {
        private final int place;

        DescribedHandler(int place) {
            this.place = place;
        }

        @Override
        public String toString() {
            return mark(place) + " of a handler";
        }
    }

    private static final class DescribedView extends View {
        DescribedView(Context context) {
            super(context);
        }

        @Override
        public String toString() {
            return mark(16) + " of a view";
        }
    }

    private static final class TitledPage extends AppScript.Page {
        TitledPage() {
            super(11, 0);
        }

        public CharSequence getTitle() {
            return mark(14) + " of a page";
        }

        @Override
        public String toString() {
            return mark(15) + " of a page";
        }
    }

    public static void main(String[] words) throws Exception {
        System.setProperty("android.host.data", System.clearProperty("anrscope.dir"));
        System.setProperty("java.vm.name", "Dalvik");
        boolean redact = words[1].equals("1");
        ActivityManager manager = new ActivityManager();
        HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, manager);
        boolean next = words[0].equals("next");
        if (next) {
            ApplicationExitInfo exit = new ApplicationExitInfo();
            exit.pid = Integer.parseInt(words[2]);
            exit.processName = "com.example.app";
            exit.reason = 6;
            exit.timestamp = System.currentTimeMillis();
            exit.description = "user request after error: Input dispatching timed out (" + mark(30) + " (server) is not responding)";
            exit.trace = Files.readAllBytes(new File(words[3]).toPath());
            manager.hostExits.add(exit);
        }
        boolean[] called = {false};
        Anrscope.setListener(
                json -> {
                    System.out.println("issue " + json);
                    throw new IllegalStateException(mark(11) + " thrown by a listener");
                });
        Anrscope.setAnrListener(
                new AnrListener() {
                    @Override
                    public void onAnrDetected(Anr anr) {
                        System.out.println("anr " + anr.values() + " " + anr.stackTrace());
                        super.onAnrDetected(anr);
                        ANR.countDown();
                    }

                    @Override
                    public void onAnrDetected(String stack, String message, long when, boolean listed, String cgroup) {
                        System.out.println("anr " + stack + " " + message + " " + when + " " + cgroup);
                    }

                    @Override
                    public void onDeadlockDetected(
                            int pid, String main, String first, String last, int[] threads, String[] locks) {
                        System.out.println("deadlock " + main + first + last + String.join(" ", locks));
                        called[0] = true;
                    }
                });
        Config config = new Config.Builder().redact(redact).lagMs(300).anrMs(800).slowMs(200).sampleMs(50).log(true).build();
        AppScript script = new AppScript(false, () -> {});
        Anrscope.install(script.app, config);
        if (next) {
            script.until("the listener was called", () -> called[0]);
            script.run(20);
            return;
        }
        TitledPage page = new TitledPage();
        script.show(1, page);
        script.then(5, () -> say(page));
        script.then(50, () -> hang());
        script.then(
                20,
                () -> {
                    File directory = new File(script.app.getNoBackupFilesDir(), "anrscope");
                    String pid = String.valueOf(ProcessHandle.current().pid());
                    AppScript.await("the recording", () -> new File(directory, "com.example.app-" + pid + ".anrscope").exists());
                    Natives.flush(10000);
                    for (String line : Log.hostLines()) {
                        if (line.startsWith("W/anrscope")) {
                            System.out.println("log " + line);
                        }
                    }
                    System.out.println("pid " + pid);
                    AppScript.die();
                });
        script.run(30_000);
    }

    private static void say(TitledPage page) {
        Anrscope.mark(mark(1) + " in a mark");
        Anrscope.counter(mark(2) + " in a counter", 1);
        Anrscope.setScene(mark(3) + " in a scene");
        Anrscope.set(mark(4), "1");
        Anrscope.set("lag_ms", mark(5));
        Handler handler = new Handler();
        handler.post(new DescribedRun(6));
        handler.sendMessage(Message.obtain(handler, 1, new Described(7)));
        new DescribedHandler(8).sendEmptyMessage(1);
        // They wait while main hangs.
        handler.sendMessageDelayed(Message.obtain(handler, 2, new Described(9)), 600000);
        handler.postDelayed(new DescribedRun(10), 600000);
        new DescribedHandler(13).sendMessageDelayed(Message.obtain(handler, 3, mark(17) + " a text"), 600000);
        Message numbers = Message.obtain(handler, 4, new String[] {mark(18)});
        numbers.arg1 = 1717171717;
        numbers.arg2 = 1818181818;
        handler.sendMessageDelayed(numbers, 600000);
        Intent intent = new Intent(mark(19) + ".ACTION");
        handler.sendMessageDelayed(Message.obtain(handler, 5, intent), 600000);
        Looper.myQueue().addIdleHandler(new DescribedIdler(20));
        handler.sendMessageDelayed(Message.obtain(handler, 6, new DescribedView(page)), 600000);
        handler.sendMessageDelayed(Message.obtain(handler, 7, page), 600000);
        Described lock = new Described(21);
        Thread named =
                new Thread(mark(22) + " thread") {
                    @Override
                    public void run() {
                        MethodBeat.i(40);
                        MethodBeat.wb(1, lock);
                        MethodBeat.we(1, lock);
                        MethodBeat.o(40);
                        throw new IllegalStateException(mark(23) + " uncaught");
                    }
                };
        named.setUncaughtExceptionHandler((thread, thrown) -> {});
        named.start();
        HandlerThread looper = new HandlerThread(mark(24) + " looper");
        looper.start();
        new Handler(looper.getLooper()).post(new DescribedRun(25));
        Log.e(mark(26), mark(26) + " in the log");
        try {
            named.join();
            File file = File.createTempFile(mark(27), ".tmp");
            file.delete();
        } catch (Exception never) {
            throw new AssertionError(never);
        }
        System.setProperty("com.example", mark(28) + " in a property");
        Anrscope.addObserver(
                new Observer() {
                    @Override
                    public void onForeground(boolean foreground) {
                        throw new IllegalStateException(mark(29) + " thrown by an observer");
                    }
                });
    }

    /** Main hangs, with a lock that has its own description, until the ANR is reported. */
    private static void hang() {
        Described lock = new Described(21);
        MethodBeat.i(41);
        MethodBeat.wb(1, lock);
        try {
            ANR.await(30, TimeUnit.SECONDS);
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
        MethodBeat.we(1, lock);
        MethodBeat.o(41);
    }
}
