package dev.anrscope;

import android.app.ActivityManager;
import android.app.ApplicationExitInfo;
import android.content.Context;
import android.os.Build;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.List;

/**
 * API 30: reads what the system knows about this app's ended processes and adds it to the recording of each, then gives
 * the system the id of this process's recording. Loaded on such systems only, and runs on a library thread.
 */
final class ExitInfo implements OptionalClasses.Step {
    /** The system keeps 16 exits per package. */
    private static final int MAX_EXITS = 16;

    /** The trace of a large app is under 4 MiB. */
    private static final int MAX_TRACE_BYTES = 4 << 20;

    @Override
    public void run(Context context, String directory) throws Exception {
        Object manager = context.getSystemService(Context.ACTIVITY_SERVICE);
        Method all =
                ActivityManager.class.getMethod(
                        "getHistoricalProcessExitReasons", String.class, int.class, int.class);
        List<?> infos = (List<?>) all.invoke(manager, null, 0, MAX_EXITS);
        for (Object info : infos) {
            try {
                record((ApplicationExitInfo) info, directory);
            } catch (Throwable unreadable) {
                // Continue with the others.
            }
        }
        ExitId.give(context, manager, infos);
    }

    private static void record(ApplicationExitInfo info, String directory) {
        StringBuilder lines = new StringBuilder();
        line(lines, "importance", info.getImportance());
        line(lines, "status", info.getStatus());
        line(lines, "pss_kib", info.getPss());
        line(lines, "rss_kib", info.getRss());
        line(lines, "description", info.getDescription());
        line(lines, "recording", ExitId.of(info));
        if (Build.VERSION.SDK_INT >= 37) {
            anr(lines, info);
        }
        Natives.exited(
                directory,
                info.getPid(),
                info.getProcessName(),
                info.getTimestamp(),
                info.getReason(),
                lines.toString(),
                trace(info));
    }

    /** API 37: the kind of ANR, with every number and text that the system offers. */
    private static void anr(StringBuilder lines, ApplicationExitInfo info) {
        try {
            Object anr = info.getClass().getMethod("getAnrInfo").invoke(info);
            if (anr == null) {
                return;
            }
            for (Method method : anr.getClass().getMethods()) {
                Class<?> type = method.getReturnType();
                boolean plain = type.isPrimitive() && type != void.class || type == String.class;
                boolean getter = method.getName().startsWith("get") || method.getName().startsWith("is");
                if (plain
                        && getter
                        && method.getParameterTypes().length == 0
                        && !Modifier.isStatic(method.getModifiers())) {
                    line(lines, "anr." + method.getName(), method.invoke(anr));
                }
            }
        } catch (Throwable none) {
            // Everything else is still recorded.
        }
    }

    private static void line(StringBuilder lines, String key, Object value) {
        if (value != null) {
            lines.append(key).append('=').append(String.valueOf(value).replace('\n', ' ')).append('\n');
        }
    }

    private static byte[] trace(ApplicationExitInfo info) {
        try {
            InputStream in = info.getTraceInputStream();
            if (in == null) {
                return null;
            }
            try {
                ByteArrayOutputStream out = new ByteArrayOutputStream();
                byte[] some = new byte[64 << 10];
                for (int read; out.size() < MAX_TRACE_BYTES && (read = in.read(some)) > 0; ) {
                    out.write(some, 0, Math.min(read, MAX_TRACE_BYTES - out.size()));
                }
                return out.toByteArray();
            } finally {
                in.close();
            }
        } catch (Throwable unreadable) {
            return null;
        }
    }
}
