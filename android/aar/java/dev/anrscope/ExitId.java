package dev.anrscope;

import android.app.ActivityManager;
import android.app.Application;
import android.app.ApplicationExitInfo;
import android.content.Context;
import java.nio.charset.StandardCharsets;
import java.util.List;

/**
 * API 30: gives the system the id of this process's recording as the process's state summary. When the process has
 * ended, its {@code ApplicationExitInfo} names the recording.
 *
 * <p>A process has one summary. The last call sets it, and no call reads it while the process lives (AOSP {@code
 * AppExitInfoTracker.setProcessStateSummary}, API 30 to 36). The app's own must win. A call that the app makes later
 * does; one that it makes while it starts might come first. So the library sets the summary only if an earlier process
 * of this name, of the installed version of the app, has ended without one, and no ended process of the app had one
 * that is not the library's.
 */
final class ExitId {
    /** What a recording's id begins with: {@code trace-format/src/recording_id.rs}. */
    private static final String PREFIX = "anrscope-";

    private ExitId() {}

    /** The id that an ended process gave; null if it gave none. */
    static String of(ApplicationExitInfo info) {
        byte[] summary = info.getProcessStateSummary();
        String text = summary == null ? "" : new String(summary, StandardCharsets.US_ASCII);
        return text.startsWith(PREFIX) ? text : null;
    }

    /**
     * Gives the system this recording's id, if the summary is free. On a library thread: it asks the system.
     *
     * @param ended what the system knows about ended processes of the app
     */
    static void give(Context context, Object manager, List<?> ended) throws Exception {
        if (Natives.number("exit_id") == 0 || !isFree(context, ended)) {
            return;
        }
        String id = Natives.recordingId();
        if (id != null) {
            // 128 bytes at most (AOSP ActivityManagerService.MAX_STATE_DATA_SIZE, API 30 to 33); an id has 36.
            ActivityManager.class
                    .getMethod("setProcessStateSummary", byte[].class)
                    .invoke(manager, (Object) id.getBytes(StandardCharsets.US_ASCII));
        }
    }

    private static boolean isFree(Context context, List<?> ended) throws Exception {
        long updated = context.getPackageManager().getPackageInfo(context.getPackageName(), 0).lastUpdateTime;
        String process = (String) Application.class.getMethod("getProcessName").invoke(null);
        boolean seen = false;
        for (Object each : ended) {
            ApplicationExitInfo info = (ApplicationExitInfo) each;
            byte[] summary = info.getProcessStateSummary();
            if (summary != null && summary.length > 0 && of(info) == null) {
                return false;
            }
            seen |= info.getTimestamp() >= updated && process.equals(info.getProcessName());
        }
        return seen;
    }
}
