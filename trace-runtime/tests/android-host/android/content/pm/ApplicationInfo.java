package android.content.pm;

import android.os.Bundle;

public class ApplicationInfo {
    public String packageName;
    public String processName;
    public String dataDir;
    /** Only where it was asked for. */
    public Bundle metaData;
}
