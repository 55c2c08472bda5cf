package dev.anrscope;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;

/**
 * A message that slows main down: its priority and its timer slack. Words: nice value ({@code same} for the current
 * one), slack in ns, options as KEY=VALUE.
 */
public final class AppTuning {
    private AppTuning() {}

    private static void change(String nice, String slack) {
        try {
            // This thread's directory: /proc/PID/task/TID.
            String tid = new File("/proc/thread-self").getCanonicalFile().getName();
            if (!nice.equals("same")) {
                new ProcessBuilder("renice", "-n", nice, "-p", tid).start().waitFor();
            }
            // A thread may write only its own slack.
            try (FileOutputStream file = new FileOutputStream("/proc/" + tid + "/timerslack_ns")) {
                file.write(slack.getBytes());
            }
            Thread.sleep(300);
        } catch (IOException | InterruptedException fault) {
            throw new AssertionError(fault);
        }
    }

    public static void main(String[] words) {
        AppScript script = new AppScript(false, () -> {});
        Config.Builder config = TestOptions.add(new Config.Builder().slowMs(200).lagMs(0).anrMs(0), words, 2);
        Anrscope.install(script.app, config.build());
        script.then(1, () -> change(words[0], words[1]));
        // Unchanged values are not reported again.
        script.then(1, () -> android.os.SystemClock.sleep(300));
        script.run(20);
    }
}
