package dev.anrscope;

import android.app.ActivityManager;
import android.content.Context;
import android.os.SystemClock;
import host.HostApp;
import host.HostShell;
import java.io.File;

/**
 * An app that runs until it is killed, with its files in Android's layout, and answers a simulated shell. {@code
 * words}: the directory of the requests; if the second is {@code stuck}, main hangs for good once a request runs.
 */
public final class AppAnswers {
    private AppAnswers() {}

    private static void work(AppScript script) {
        MethodBeat.i(40);
        SystemClock.sleep(2);
        MethodBeat.o(40);
        script.thread.hostHandler().postDelayed(() -> work(script), 20);
    }

    public static void main(String[] words) {
        System.setProperty("android.host.data", System.clearProperty("anrscope.dir"));
        System.setProperty("java.vm.name", "Dalvik");
        HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, new ActivityManager());
        RecordingsProvider provider = new RecordingsProvider();
        AppScript script = new AppScript(false, () -> work(script()));
        AppAnswers.script = script;
        provider.hostAttach(script.app);
        HostShell shell = new HostShell(new File(words[0]), script.app, provider, new ControlReceiver());
        script.until("the file", () -> Control.run("flush").done);
        script.then(
                1,
                () -> {
                    shell.start();
                    System.out.println("serves");
                    System.out.flush();
                });
        if (words.length > 1) {
            script.then(100, () -> SystemClock.sleep(300_000));
        }
        script.run(300_000);
    }

    private static AppScript script;

    private static AppScript script() {
        return script;
    }
}
