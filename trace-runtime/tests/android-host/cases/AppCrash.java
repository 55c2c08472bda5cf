package dev.anrscope;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;

/** A process that falls over at its start; with {@code lives}, one that does not. */
public final class AppCrash {
    private AppCrash() {}

    private static String text(File file) {
        try {
            return new String(Files.readAllBytes(file.toPath()));
        } catch (IOException none) {
            return "";
        }
    }

    public static void main(String[] words) {
        File mark = new File(host.HostApp.folder("no_backup"), "anrscope/starting-com.example.app");
        String before = text(mark);
        AppScript script = new AppScript(false, () -> {});
        // Whatever is decided is decided by then.
        boolean armed = !words[0].equals("refused");
        if (!words[0].equals("dies")) {
            script.until("armed " + armed, () -> LooperMonitor.isRunning() == armed);
        }
        script.then(
                1,
                () -> {
                    if (words[0].equals("dies")) {
                        AppScript.await("the mark", () -> !text(mark).equals(before));
                        System.out.println("armed " + LooperMonitor.isRunning());
                        System.out.flush();
                        AppScript.die();
                    }
                });
        script.then(30, () -> System.out.println("armed " + LooperMonitor.isRunning()));
        script.run(20);
    }
}
