package dev.anrscope;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;

/**
 * A process that crashes at its start; with {@code lives}, one that does not. A debuggable build leaves no marker to
 * wait for, so {@code killed} dies once a recording exists.
 */
public final class AppCrash {
    private AppCrash() {}

    private static String text(File file) {
        try {
            return new String(Files.readAllBytes(file.toPath()));
        } catch (IOException none) {
            return "";
        }
    }

    private static void print() {
        long logged = android.util.Log.hostLines().stream().filter(line -> line.startsWith("W/anrscope: disarmed")).count();
        System.out.println(
                "armed " + LooperMonitor.isRunning() + " recording " + Anrscope.isRecording() + " logged " + logged);
        System.out.flush();
    }

    public static void main(String[] words) {
        File mark = new File(host.HostApp.directory("no_backup"), "anrscope/starting-com.example.app");
        String before = text(mark);
        host.HostApp.debuggable = Boolean.getBoolean("android.host.debuggable");
        AppScript script = new AppScript(false, () -> {});
        // All decisions are made by then.
        boolean armed = !words[0].equals("refused");
        if (!words[0].equals("dies")) {
            script.until("armed " + armed, () -> LooperMonitor.isRunning() == armed);
        }
        script.then(
                1,
                () -> {
                    if (words[0].equals("dies")) {
                        AppScript.await("the mark", () -> !text(mark).equals(before));
                        print();
                        AppScript.die();
                    } else if (words[0].equals("killed")) {
                        AppScript.await("a recording", () -> Natives.flush(100) != null);
                        print();
                        AppScript.die();
                    }
                });
        script.then(30, AppCrash::print);
        script.run(20);
    }
}
