package android.os;

/** The calling uid, set on the thread that serves a call from another process. */
public class Binder implements IBinder {
    private static final ThreadLocal<Integer> CALLER = new ThreadLocal<Integer>();

    public static int getCallingUid() {
        Integer uid = CALLER.get();
        return uid == null ? Process.myUid() : uid.intValue();
    }

    /** The calling thread serves this uid until it is called with null. */
    public static void hostCaller(Integer uid) {
        CALLER.set(uid);
    }
}
