package dev.anrscope;

import android.app.ActivityThread;
import android.app.Application;
import android.content.Context;
import android.content.ContextWrapper;
import android.content.res.Resources;
import android.os.Handler;
import android.os.Looper;
import android.util.Log;
import java.util.concurrent.locks.LockSupport;

/**
 * Errors and missing classes around the library. Words: {@code monitors} (a monitor throws where it is started, another
 * where it is switched on), {@code wrapped} and {@code foreign} (the context is a wrapper around the application, and
 * around another object), {@code missing} (the library is missing).
 */
public final class AppGuards {
    private AppGuards() {}

    /** Denies what two of the monitors need. */
    private static final class Refusing extends Application {
        @Override
        public Object getSystemService(String name) {
            if (name.equals(Context.ACTIVITY_SERVICE)) {
                throw new SecurityException("this text is the app's");
            }
            return super.getSystemService(name);
        }

        @Override
        public Resources getResources() {
            throw new UnsupportedOperationException("this text is the app's");
        }
    }

    /** The application context of a plug-in framework: a wrapper that returns itself. */
    private static final class Plugin extends ContextWrapper {
        Plugin(Context base) {
            super(base);
        }

        @Override
        public Context getApplicationContext() {
            return this;
        }
    }

    /** Its base is not an application. */
    private static final class Foreign extends Context {
        @Override
        public Object getSystemService(String name) {
            return null;
        }
    }

    public static void main(String[] words) throws Exception {
        // Runs as main's first message.
        MethodBeat.i(2);
        MethodBeat.o(2);
        Application app = words[0].equals("monitors") ? new Refusing() : new Application() {};
        ActivityThread.hostMain(app);
        Context context = app;
        if (words[0].equals("wrapped")) {
            context = new Plugin(new ContextWrapper(app));
        } else if (words[0].equals("foreign")) {
            context = new Foreign();
        }
        Anrscope.install(context);
        Anrscope.install(context);
        Handler main = new Handler();
        if (words[0].equals("monitors")) {
            main.post(() -> System.out.println("taken " + Anrscope.set("overlay", "1")));
            // Off main this posts a message to main, which continues after it.
            main.post(() -> run(() -> System.out.println("taken " + Anrscope.set("overlay", "0") + Anrscope.set("overlay", "1"))));
        }
        main.postDelayed(
                () -> {
                    System.out.println(
                            "messages " + LooperMonitor.isRunning() + " frames " + FrameMonitor.isRunning() + " overlay " + Overlay.isShown());
                    Looper.myLooper().quit();
                },
                500);
        Looper.loop();
        for (String line : Log.hostLines()) {
            System.out.println(line.replaceAll("library anrscope: .*", "library anrscope: ..."));
        }
    }

    private static void run(Runnable work) {
        Thread thread = new Thread(work);
        thread.start();
        while (thread.isAlive()) {
            LockSupport.parkNanos(1_000_000);
        }
    }
}
