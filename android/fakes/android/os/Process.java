package android.os;

public class Process {
    public static final int FIRST_APPLICATION_UID = 10000;
    public static final int THREAD_PRIORITY_BACKGROUND = 10;
    public static final int THREAD_PRIORITY_LESS_FAVORABLE = 1;
    /** The result of {@link #myProcessName}. */
    public static volatile String hostName = System.getProperty("anrscope.name", "com.example.app");

    public static int myPid() {
        return (int) ProcessHandle.current().pid();
    }

    public static int myTid() {
        return (int) Thread.currentThread().getId();
    }

    public static int myUid() {
        return 10123;
    }

    public static boolean is64Bit() {
        return true;
    }

    /** API 33. */
    public static String myProcessName() {
        return hostName;
    }

    public static long getStartUptimeMillis() {
        return java.lang.management.ManagementFactory.getRuntimeMXBean().getStartTime()
                - System.currentTimeMillis() + SystemClock.uptimeMillis();
    }

    public static int getThreadPriority(int tid) {
        return 0;
    }

    public static void setThreadPriority(int priority) {}

    public static final void killProcess(int pid) {
        ProcessHandle.of(pid).ifPresent(ProcessHandle::destroyForcibly);
    }
}
