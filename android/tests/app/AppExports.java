package dev.anrscope;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;

/**
 * Traces that the app exports itself. {@code words}: a recording, and the directory for its trace; the app also exports
 * its own recording while it is being written.
 */
public final class AppExports {
    private AppExports() {}

    private static String outcome(File recording, File out) {
        try {
            Anrscope.exportTrace(recording, out);
            return "done " + out.exists();
        } catch (IOException refused) {
            return refused.getMessage();
        }
    }

    public static void main(String[] words) throws Exception {
        System.setProperty("android.host.data", System.clearProperty("anrscope.dir"));
        System.setProperty("java.vm.name", "Dalvik");
        File recording = new File(words[0]);
        File directory = new File(words[1]);
        AppScript script = new AppScript(false, () -> {});
        script.then(1, () -> System.out.println("main: " + outcome(recording, new File(directory, "main.pftrace"))));
        script.until("the file", () -> Control.run("flush").done);
        Thread[] worker = new Thread[1];
        script.then(
                1,
                () -> {
                    worker[0] = new Thread(() -> exports(recording, directory, Anrscope.recordings(script.app)));
                    worker[0].start();
                });
        script.until("the traces", () -> !worker[0].isAlive());
        script.run(10);
    }

    private static void exports(File recording, File directory, File[] own) {
        try {
            System.out.println("old: " + outcome(recording, new File(directory, "old.pftrace")));
            System.out.println("own: " + own.length + " " + outcome(own[0], new File(directory, "own.pftrace")));
            File none = new File(directory, "none.anrscope");
            Files.write(none.toPath(), new byte[5000]);
            System.out.println("none: " + outcome(none, new File(directory, "none.pftrace")));
            System.out.println("nowhere: " + outcome(recording, new File(directory, "no/such/x.pftrace")));
        } catch (Throwable fault) {
            System.out.println("fault: " + fault);
        }
    }
}
