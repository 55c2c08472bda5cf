package dev.anrscope;

import android.app.ActivityManager;
import android.app.ApplicationExitInfo;
import android.content.Context;
import android.os.ProfilingManager;
import android.os.ProfilingResult;
import android.os.ProfilingTrigger;
import host.HostApp;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.Arrays;

/**
 * A process that is killed, and the next start, at which the system reports how it ended. Words: {@code dies}; or
 * {@code next}, the first one's pid and a file with its trace; {@code profile}, the pid and the file of a profile that
 * the platform left, with its trigger and error.
 */
public final class AppExits {
    private AppExits() {}

    /** The recording of this process, once it exists. */
    private static File recording(AppScript script) {
        File directory = new File(script.app.getNoBackupFilesDir(), "anrscope");
        String pid = String.valueOf(ProcessHandle.current().pid());
        File file = new File(directory, "com.example.app-" + pid + ".anrscope");
        AppScript.await("the recording", file::exists);
        return file;
    }

    private static boolean contains(File file, String part) {
        try {
            return new String(Files.readAllBytes(file.toPath()), StandardCharsets.ISO_8859_1).contains(part);
        } catch (java.io.IOException none) {
            return false;
        }
    }

    public static void main(String[] words) throws Exception {
        System.setProperty("android.host.data", System.clearProperty("anrscope.dir"));
        System.setProperty("java.vm.name", "Dalvik");
        ActivityManager manager = new ActivityManager();
        HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, manager);
        boolean next = words[0].equals("next");
        if (!words[0].equals("dies")) {
            ApplicationExitInfo exit = new ApplicationExitInfo();
            exit.pid = Integer.parseInt(words[1]);
            exit.processName = "com.example.app";
            exit.reason = 6;
            exit.timestamp = System.currentTimeMillis();
            exit.trace = next ? Files.readAllBytes(new File(words[2]).toPath()) : new byte[0];
            manager.hostExits.add(exit);
        }
        ProfilingManager profiles = new ProfilingManager();
        HostApp.SERVICES.put("profiling", profiles);
        if (words[0].equals("profile")) {
            int trigger = Integer.parseInt(words[3]);
            int error = Integer.parseInt(words[4]);
            profiles.hostLeft.add(new ProfilingResult(error, words[2], trigger));
            AppScript script = new AppScript(false, () -> {});
            File directory = new File(script.app.getNoBackupFilesDir(), "anrscope");
            File file = new File(directory, "com.example.app-" + words[1] + ".anrscope");
            boolean wanted = trigger == ProfilingTrigger.TRIGGER_TYPE_ANR;
            if (android.os.Build.VERSION.SDK_INT >= 36) {
                script.until("the trigger", () -> profiles.hostTriggers.size() == 1);
                script.then(1, () -> System.out.println("trigger " + profiles.hostTriggers.get(0).getTriggerType()));
            }
            if (wanted && android.os.Build.VERSION.SDK_INT >= 36) {
                script.until("the note", () -> contains(file, error == 0 ? "path=" + words[2] : "outcome=rate_limit_system"));
                script.then(1, () -> Anrscope.set("anr_profile", "0")).then(1, Anrscope::refresh);
                script.until("no trigger", () -> profiles.hostTriggers.isEmpty());
            }
            script.then(200, () -> System.out.println("waiting " + profiles.hostLeft.size()));
            script.run(20);
            return;
        }
        boolean[] called = {false};
        Anrscope.setAnrListener(
                new AnrListener() {
                    @Override
                    public void onDeadlockDetected(
                            int pid, String main, String first, String last, int[] threads, String[] locks) {
                        System.out.println("deadlock of " + pid + " " + Arrays.toString(threads) + " " + Arrays.toString(locks));
                        for (String text : new String[] {main, first, last}) {
                            System.out.println("text " + text.split("\n")[0] + " of " + text.split("\n").length);
                        }
                        called[0] = true;
                    }

                    @Override
                    public void onMainThreadIdle(int pid, String main) {
                        System.out.println("idle of " + pid + " " + main.split("\n").length);
                        called[0] = true;
                    }
                });
        AppScript script = new AppScript(false, () -> {});
        if (next) {
            script.until("the listener was called", () -> called[0]);
            script.run(20);
            return;
        }
        script.then(
                1,
                () -> {
                    recording(script);
                    System.out.println("pid " + ProcessHandle.current().pid());
                    AppScript.die();
                });
        script.run(30_000);
    }
}
