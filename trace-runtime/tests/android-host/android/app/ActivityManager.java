package android.app;

import android.os.Build;
import java.util.ArrayList;
import java.util.List;

public class ActivityManager {
    /** What the system would say. */
    public final List<ApplicationExitInfo> hostExits = new ArrayList<ApplicationExitInfo>();

    /** API 30. */
    public List<ApplicationExitInfo> getHistoricalProcessExitReasons(String packageName, int pid, int max) {
        if (Build.VERSION.SDK_INT < 30) {
            throw new NoSuchMethodError("getHistoricalProcessExitReasons");
        }
        return hostExits;
    }
}
