package android.app;

import android.os.Build;
import java.util.ArrayList;
import java.util.List;

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

    /** API 30. */
    public List<ApplicationExitInfo> getHistoricalProcessExitReasons(String packageName, int pid, int max) {
        if (Build.VERSION.SDK_INT < 30) {
            throw new NoSuchMethodError("getHistoricalProcessExitReasons");
        }
        return hostExits;
    }
}
