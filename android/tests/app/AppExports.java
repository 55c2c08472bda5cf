package dev.anrscope;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;

/**
 * Traces that the app writes itself. {@code words}: a recording, and the folder for its trace; of its own recording there is one as well,
 * which it goes on writing to.
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
        File folder = new File(words[1]);
        AppScript script = new AppScript(false, () -> {});
        script.then(1, () -> System.out.println("main: " + outcome(recording, new File(folder, "main.pftrace"))));
        script.until("the file", () -> Control.run("flush").done);
        Thread[] worker = new Thread[1];
        script.then(
                1,
                () -> {
                    worker[0] = new Thread(() -> exports(recording, folder, Anrscope.recordings(script.app)));
                    worker[0].start();
                });
        script.until("the traces", () -> !worker[0].isAlive());
        script.run(10);
    }

    private static void exports(File recording, File folder, File[] own) {
        try {
            System.out.println("old: " + outcome(recording, new File(folder, "old.pftrace")));
            System.out.println("own: " + own.length + " " + outcome(own[0], new File(folder, "own.pftrace")));
            File none = new File(folder, "none.anrscope");
            Files.write(none.toPath(), new byte[5000]);
            System.out.println("none: " + outcome(none, new File(folder, "none.pftrace")));
            System.out.println("nowhere: " + outcome(recording, new File(folder, "no/such/x.pftrace")));
        } catch (Throwable fault) {
            System.out.println("fault: " + fault);
        }
    }
}
