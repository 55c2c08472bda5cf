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
        script.then(
                1,
                () -> {
                    if (words[0].equals("dies")) {
                        AppScript.await("the mark", () -> !text(mark).equals(before));
                        System.out.println("armed " + LooperMonitor.isRunning());
                        System.out.flush();
                        Runtime.getRuntime().halt(7);
                    }
                    // Whatever is decided is decided by then.
                    String wanted = words[0].equals("refused") ? "false" : "true";
                    AppScript.await("armed " + wanted, () -> wanted.equals(String.valueOf(LooperMonitor.isRunning())));
                });
        script.then(30, () -> System.out.println("armed " + LooperMonitor.isRunning()));
        script.run(20);
    }
}
