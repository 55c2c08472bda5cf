package dev.anrscope;

import android.app.ActivityThread;
import android.app.QueuedWork;
import android.os.Handler;
import java.lang.reflect.Field;

/**
 * SharedPreferences that are still being written when a component stops, and what remains of the callback of
 * ActivityThread.mH.
 */
public final class AppFix {
    private static int waited;

    private AppFix() {}

    private static Handler.Callback callback(ActivityThread thread) {
        try {
            Field field = Handler.class.getDeclaredField("mCallback");
            field.setAccessible(true);
            return (Handler.Callback) field.get(thread.hostHandler());
        } catch (ReflectiveOperationException fault) {
            throw new AssertionError(fault);
        }
    }

    public static void main(String[] words) {
        AppScript script = new AppScript(false, () -> {});
        Anrscope.install(script.app, new Config.Builder().sharedPreferencesFix(words[0].equals("on")).build());
        for (int what : new int[] {103, 104, 115, 116, 137}) {
            script.then(1, () -> QueuedWork.add(() -> waited++));
            script.then(1, () -> script.thread.hostSend(what, null));
        }
        script.then(10, () -> System.out.println("waited " + waited));
        script.then(
                1,
                () -> {
                    System.out.println("ours " + (callback(script.thread) instanceof StartMonitor));
                    Anrscope.set("shared_preferences_fix", "0");
                    Anrscope.stop(Tracer.STARTUP);
                    System.out.println("restored " + (callback(script.thread) == null));
                });
        script.run(10);
    }
}
