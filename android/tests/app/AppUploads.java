package dev.anrscope;

import android.app.ActivityManager;
import android.content.Context;
import host.HostApp;
import java.io.File;
import java.nio.file.Files;
import java.util.Collections;
import java.util.List;
import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Uploads finished recordings. {@code words}: number of uploads after which it ends; then {@code refuse}: no upload
 * arrives; {@code once}: the first attempt of each fails; {@code interrupt}: it also interrupts its thread; {@code die}: the process is killed during the first.
 */
public final class AppUploads {
    private static final List<String> DONE = Collections.synchronizedList(new ArrayList<String>());
    /** The last attempt of each. */
    private static final Map<String, Integer> LAST = new ConcurrentHashMap<>();

    private AppUploads() {}

    public static void main(String[] words) throws Exception {
        System.setProperty("android.host.data", System.clearProperty("anrscope.dir"));
        System.setProperty("java.vm.name", "Dalvik");
        HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, new ActivityManager());
        int wanted = Integer.parseInt(words[0]);
        String how = words.length > 1 ? words[1] : "";
        boolean second = how.equals("once") || how.equals("interrupt");
        Uploads.firstPause = second ? 50 : 60_000;
        AppScript script = new AppScript(false, () -> {});
        Anrscope.setUploader(
                (recording, info) -> {
                    if (how.equals("die")) {
                        AppScript.die();
                    }
                    boolean arrives = how.isEmpty() || second && info.attempt() > 1;
                    System.out.println("offered " + recording.getName() + " pid " + info.pid() + " " + info.process() + " began "
                            + info.startMs() + " anr " + info.hasAnr() + " reason " + info.reason() + " attempt " + info.attempt()
                            + " whole " + (Files.readAllBytes(recording.toPath()).length > 4096)
                            + " main " + (android.os.Looper.myLooper() != null));
                    LAST.put(recording.getName(), info.attempt());
                    DONE.add(recording.getName());
                    if (how.equals("interrupt")) {
                        Thread.currentThread().interrupt();
                    }
                    if (how.equals("throw")) {
                        throw new java.io.IOException("no network");
                    }
                    return arrives;
                });
        File state = new File(script.app.getNoBackupFilesDir(), "anrscope/uploads");
        script.until("all offered", () -> DONE.size() >= wanted && (wanted > 0 || Control.run("flush").done));
        // Its outcome is written after an attempt.
        script.until("the state", () -> settled(state));
        script.run(20);
    }

    /** True if the state has the outcome of each last attempt. */
    private static boolean settled(File state) {
        try {
            List<String> lines = state.exists() ? Files.readAllLines(state.toPath()) : new ArrayList<String>();
            return LAST.entrySet().stream()
                    .map(last -> last.getKey() + "\t" + last.getValue() + "\t")
                    .allMatch(outcome -> lines.stream().anyMatch(line -> line.startsWith(outcome)));
        } catch (java.io.IOException replaced) {
            return false;
        }
    }
}
