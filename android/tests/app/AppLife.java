package dev.anrscope;

import android.app.ActivityManager;
import android.app.ApplicationExitInfo;
import android.content.Context;
import android.hardware.display.DisplayManager;
import android.os.Looper;
import android.os.SystemClock;
import android.view.MotionEvent;
import host.HostApp;
import host.HostWindows;
import host.Vsync;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * An app's life, in real time, with its files in Android's layout: a process that shows all kinds of problems and is
 * killed, a second one, and the next start of the first.
 */
public final class AppLife {
    private static final List<String> REPORTS = Collections.synchronizedList(new ArrayList<String>());

    private AppLife() {}

    private static boolean reported(String detail) {
        synchronized (REPORTS) {
            return REPORTS.stream().anyMatch(json -> json.contains("\"detail\":\"" + detail + "\""));
        }
    }

    /** Draws this many frames, each this long, then runs the action. */
    private static void draw(AppScript.Page page, int frames, long eachMs) {
        int[] left = {frames};
        page.getWindow().getDecorView().hostOnDraw =
                () -> {
                    if (--left[0] > 0) {
                        page.getWindow().getDecorView().invalidate();
                    }
                    if (eachMs > 0) {
                        SystemClock.sleep(eachMs);
                    }
                };
        page.getWindow().getDecorView().invalidate();
    }

    private static void method(int id, Runnable work) {
        MethodBeat.i(id);
        work.run();
        MethodBeat.o(id);
    }

    public static void main(String[] words) throws Exception {
        // No directory before the first Context, as on Android.
        System.setProperty("android.host.data", System.clearProperty("anrscope.dir"));
        System.setProperty("java.vm.name", "Dalvik");
        HostApp.SERVICES.put(Context.DISPLAY_SERVICE, new DisplayManager());
        HostApp.SERVICES.put(Context.WINDOW_SERVICE, new HostWindows());
        ActivityManager manager = new ActivityManager();
        HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, manager);
        if (words[0].equals("next")) {
            ApplicationExitInfo exit = new ApplicationExitInfo();
            exit.pid = Integer.parseInt(words[1]);
            exit.processName = "com.example.app";
            exit.reason = 6;
            exit.timestamp = System.currentTimeMillis();
            exit.description = "user request after error: Input dispatching timed out";
            exit.trace = Files.readAllBytes(new File(words[2]).toPath());
            exit.anr = new ApplicationExitInfo.AnrInfo(2, 5_000);
            ApplicationExitInfo unknown = new ApplicationExitInfo();
            unknown.pid = 1;
            unknown.processName = "com.example.app";
            unknown.trace = "nothing".getBytes(StandardCharsets.UTF_8);
            manager.hostExits.add(unknown);
            manager.hostExits.add(exit);
        }
        AppScript script = new AppScript(false, () -> SystemClock.sleep(20));
        Anrscope.setListener(REPORTS::add);
        Anrscope.install(
                script.app,
                new Config.Builder()
                        .slowMs(200)
                        .lagMs(400)
                        .anrMs(1_000)
                        .idleMs(300)
                        .touchMs(250)
                        .fpsWindowMs(1_000)
                        .backgroundMs(50)
                        .build());
        if (words[0].equals("push")) {
            script.then(10, () -> script.thread.hostSend(114, () -> {}));
            script.run(50);
            return;
        }
        AppScript.Home home = new AppScript.Home();
        script.show(10, home);
        File directory = new File(script.app.getNoBackupFilesDir(), "anrscope");
        if (words[0].equals("next")) {
            File earlier = new File(directory, "com.example.app-" + words[1] + ".anrscope");
            byte[] subject = "\nreason=anr\n".getBytes(StandardCharsets.UTF_8);
            script.until("the exit is appended", () -> contains(earlier, subject));
            script.run(20);
            return;
        }
        life(script, home);
    }

    private static boolean contains(File file, byte[] part) {
        try {
            byte[] all = Files.readAllBytes(file.toPath());
            String text = new String(all, StandardCharsets.ISO_8859_1);
            return text.contains(new String(part, StandardCharsets.ISO_8859_1));
        } catch (java.io.IOException none) {
            return false;
        }
    }

    private static void life(AppScript script, AppScript.Home home) {
        script.then(50, () -> draw(home, 20, 1)).then(500, () -> Vsync.rate(120)).then(50, () -> draw(home, 20, 1));
        script.then(400, () -> Vsync.rate(60));
        // At 60 Hz: 4, 11, 27 and 45 intervals.
        for (long jank : new long[] {70, 190, 450, 750}) {
            script.then(50, () -> draw(home, 2, jank)).then(100, () -> {});
        }
        script.then(50, () -> method(40, () -> SystemClock.sleep(300)));
        script.then(20, () -> method(41, () -> AppScript.await("LAG", () -> reported("LAG"))));
        script.then(20, () -> method(42, () -> AppScript.await("ANR", () -> reported("ANR"))));
        script.then(
                20,
                () ->
                        Looper.myQueue()
                                .addIdleHandler(
                                        () -> {
                                            AppScript.await("idle", () -> reported("LAG_IDLE_HANDLER"));
                                            return false;
                                        }));
        script.then(
                100,
                () -> {
                    long happened = SystemClock.uptimeMillis();
                    SystemClock.sleep(600);
                    home.hostWindow().root().hostReceive(MotionEvent.obtain(happened, happened, 0, 1, 1, 0));
                });
        script.until("touch", () -> reported("LAG_TOUCH"));
        Anrscope.addObserver(new CountingObserver());
        script.leave(100, home).until("background", CountingObserver.GONE::get);
        script.then(10, () -> script.thread.hostRestart(home)).focus(30, home, true);
        // The frame that does not end: the parent process sends SIGQUIT, and then SIGKILL.
        script.then(
                200,
                () -> {
                    home.getWindow().getDecorView().hostOnDraw =
                            () ->
                                    method(
                                            43,
                                            () -> {
                                                Thread watcher = new Thread(AppLife::announceHang);
                                                watcher.start();
                                                SystemClock.sleep(300_000);
                                            });
                    home.getWindow().getDecorView().invalidate();
                });
        script.run(300_000);
    }

    private static void announceHang() {
        SystemClock.sleep(5_500);
        ActivityManager.hostInError(ActivityManager.ProcessErrorStateInfo.NOT_RESPONDING);
        System.out.println("hangs");
        System.out.flush();
    }
}
