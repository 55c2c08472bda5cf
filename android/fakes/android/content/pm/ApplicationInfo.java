package android.content.pm;

import android.os.Bundle;

public class ApplicationInfo {
    public static final int FLAG_DEBUGGABLE = 2;

    public int flags;
    public String packageName;
    public String processName;
    public String dataDir;
    /** Only set if it was requested. */
    public Bundle metaData;
}
