package android.app;

import android.os.Build;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executor;
import java.util.function.Consumer;

public class ActivityManager {
    /** Answers that tests set. */
    public final List<ApplicationExitInfo> hostExits = new ArrayList<ApplicationExitInfo>();

    /** The condition of a process in error. */
    public static class ProcessErrorStateInfo {
        public static final int NO_ERROR = 0;
        public static final int CRASHED = 1;
        public static final int NOT_RESPONDING = 2;

        public int condition;
        public String processName;
        public int pid;
        public int uid;
        public String tag;
        public String shortMsg;
        public String longMsg;
        public String stackTrace;
    }

    private static volatile ProcessErrorStateInfo hostInError;

    /** From now on the system lists this process with this condition. */
    public static void hostInError(int condition) {
        ProcessErrorStateInfo info = new ProcessErrorStateInfo();
        info.condition = condition;
        info.processName = android.os.Process.myProcessName();
        info.pid = android.os.Process.myPid();
        // The library gets the real values for its own process.
        info.uid = (int) new com.sun.security.auth.module.UnixSystem().getUid();
        info.shortMsg = "ANR Inputdispatcher";
        hostInError = info;
    }

    /** Null if no process is in error, as on Android. */
    public List<ProcessErrorStateInfo> getProcessesInErrorState() {
        ProcessErrorStateInfo info = hostInError;
        if (info == null) {
            return null;
        }
        List<ProcessErrorStateInfo> all = new ArrayList<ProcessErrorStateInfo>();
        all.add(info);
        return all;
    }

    private final Map<Consumer<AnrWarningResult>, Executor> warned =
            Collections.synchronizedMap(new HashMap<Consumer<AnrWarningResult>, Executor>());

    /**
     * API 37. The signature: the API differences of 37, and CTS {@code AnrWarningListenerService.java}. One entry a
     * listener, called through its executor by the binder thread that has the warning (by a description of {@code
     * ActivityManager.java} at {@code android-17.0.0_r1}).
     */
    public void registerAnrWarningListener(Executor executor, Consumer<AnrWarningResult> listener) {
        if (Build.VERSION.SDK_INT < 37) {
            throw new NoSuchMethodError("registerAnrWarningListener");
        }
        warned.put(listener, executor);
    }

    /** API 37. */
    public void unregisterAnrWarningListener(Consumer<AnrWarningResult> listener) {
        warned.remove(listener);
    }

    /** How many listeners are registered. */
    public int hostWarned() {
        return warned.size();
    }

    /** The system warns: on a thread of its own, as a binder thread is. */
    public void hostWarn(AnrWarningResult warning) {
        new Thread(
                        () -> {
                            synchronized (warned) {
                                warned.forEach((listener, executor) -> executor.execute(() -> listener.accept(warning)));
                            }
                        },
                        "binder:1")
                .start();
    }

    /** What the system has of {@link #setProcessStateSummary}. */
    public volatile byte[] hostSummary;

    /**
     * API 30. The last call wins (AOSP {@code AppExitInfoTracker.setProcessStateSummary}, API 30 to 36). More than 128
     * bytes are refused (AOSP {@code ActivityManagerService.java}, API 30 and 33: {@code MAX_STATE_DATA_SIZE}; the
     * exception's type was not verified).
     */
    public void setProcessStateSummary(byte[] state) {
        if (Build.VERSION.SDK_INT < 30) {
            throw new NoSuchMethodError("setProcessStateSummary");
        }
        if (state != null && state.length > 128) {
            throw new IllegalArgumentException("Data size is too large");
        }
        hostSummary = state == null ? null : state.clone();
    }

    /** API 30. */
    public List<ApplicationExitInfo> getHistoricalProcessExitReasons(String packageName, int pid, int max) {
        if (Build.VERSION.SDK_INT < 30) {
            throw new NoSuchMethodError("getHistoricalProcessExitReasons");
        }
        return hostExits;
    }
}
