package android.os;

/** The system's version; the property {@code android.host.sdk} sets the API level. */
public class Build {
    public static final String MODEL = "fake";
    public static final String MANUFACTURER = "anrscope";
    public static final String FINGERPRINT = "anrscope/fake";

    public static class VERSION {
        /** Not final here: a test may change it. */
        public static int SDK_INT = Integer.getInteger("android.host.sdk", 34).intValue();
        public static final String RELEASE = "fake";
        public static final String CODENAME = "REL";
    }

    public static class VERSION_CODES {
        public static final int M = 23;
        public static final int N = 24;
        public static final int O = 26;
        public static final int P = 28;
        public static final int R = 30;
        public static final int S = 31;
    }
}
