package dev.anrscope;

import java.io.File;

/**
 * The options that an app stores for its next start: whether to record, and the sizes of the rings. Words: the
 * provider's answer for {@code recording} ({@code none} for no answer), whether it is recorded in the end, and options
 * as KEY=VALUE.
 */
public final class AppOff {
    private AppOff() {}

    private static boolean hasRecording(File directory) {
        String[] names = directory.list();
        for (int at = 0; names != null && at < names.length; at++) {
            if (names[at].endsWith(".anrscope")) {
                return true;
            }
        }
        return false;
    }

    public static void main(String[] words) {
        System.setProperty("java.vm.name", "Dalvik");
        String answer = words[0].equals("none") ? null : words[0];
        boolean on = words[1].equals("on");
        Config.Builder config = TestOptions.add(new Config.Builder(), words, 2);
        config.provider(key -> key.equals("recording") ? answer : null);
        AppScript script = new AppScript(false, () -> {});
        File directory = new File(script.app.getNoBackupFilesDir(), "anrscope");
        // Replaces the provider's install, which would not know these options: code comes first.
        Anrscope.install(script.app, config.build());
        System.out.println("at once " + LooperMonitor.isRunning());
        if (words[1].equals("refused")) {
            script.until("refused", () -> !LooperMonitor.isRunning());
            script.run(20);
            System.out.println("recording " + hasRecording(directory));
            return;
        }
        script.until("in the end", () -> LooperMonitor.isRunning() == on && new File(directory, "off").exists() != on);
        if (on) {
            script.until("a recording", () -> hasRecording(directory));
            script.then(1, () -> Anrscope.mark("seen"));
        } else {
            script.then(1, () -> Anrscope.mark("not seen"));
            script.then(100, () -> System.out.println("watched " + LooperMonitor.isRunning()));
        }
        script.then(1, () -> other("Early"));
        script.then(1, () -> Anrscope.set("main_only", "1"));
        script.then(1, () -> other("Late"));
        script.run(20);
        System.out.println("recording " + hasRecording(directory));
    }

    /** Records something on a thread with this name. */
    private static void other(String name) {
        Thread thread =
                new Thread(
                        () -> {
                            MethodBeat.i(70);
                            MethodBeat.o(70);
                        },
                        name);
        thread.start();
        try {
            thread.join();
        } catch (InterruptedException never) {
            throw new AssertionError(never);
        }
    }
}
