package dev.anrscope;

import android.app.ActivityManager;
import android.content.Context;
import java.lang.reflect.Field;
import java.util.Locale;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

/**
 * API 37: records the system's warnings of an imminent ANR ({@code ActivityManager.registerAnrWarningListener}). The
 * system may skip a warning, and main may go on after one. Each process of the app that listens gets the warnings of
 * all its processes. Loaded by name on such systems only.
 */
final class AnrWarnings implements OptionalClasses.Step, Consumer<Object>, Executor {
    private static AnrWarnings only;

    private Object manager;

    /** Registers or unregisters, as the option says. */
    @Override
    public void run(Context context, String directory) throws Exception {
        synchronized (AnrWarnings.class) {
            boolean wanted = Natives.number("anr_warning") != 0;
            if (wanted == (only != null)) {
                return;
            }
            if (wanted) {
                manager = context.getSystemService(Context.ACTIVITY_SERVICE);
                ActivityManager.class
                        .getMethod("registerAnrWarningListener", Executor.class, Consumer.class)
                        .invoke(manager, this, this);
                only = this;
            } else {
                AnrWarnings listener = only;
                only = null;
                ActivityManager.class
                        .getMethod("unregisterAnrWarningListener", Consumer.class)
                        .invoke(listener.manager, listener);
            }
        }
    }

    /** On the binder thread that has the warning, which is never main: a notice waits for no file. */
    @Override
    public void execute(Runnable warning) {
        warning.run();
    }

    @Override
    public void accept(Object warning) {
        try {
            String type = type(((Integer) number(warning, "getAnrType")).intValue());
            // Not its description, which quotes the app.
            Natives.notice(
                    "the system warns of an ANR in a process of this app: " + type + ", id " + number(warning, "getAnrId")
                            + ", after " + number(warning, "getConsumedMillis") + " of "
                            + number(warning, "getTimeoutMillis") + " ms");
        } catch (Throwable fault) {
            // The ANR itself is detected without this.
        }
    }

    private static Object number(Object warning, String getter) throws Exception {
        return warning.getClass().getMethod(getter).invoke(warning);
    }

    /** The lower-case rest of the constant {@code AnrTypes.ANR_TYPE_...} with this value. */
    private static String type(int number) throws Exception {
        for (Field field : Class.forName("android.app.AnrTypes").getFields()) {
            if (field.getName().startsWith("ANR_TYPE_") && field.getInt(null) == number) {
                return field.getName().substring("ANR_TYPE_".length()).toLowerCase(Locale.ROOT);
            }
        }
        return "type " + number;
    }
}
