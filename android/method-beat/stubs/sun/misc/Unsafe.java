package sun.misc;

/**
 * The methods that {@code MethodBeat} uses, for the compiler only: {@code javac --release 8} does not know the class,
 * and every runtime has the real one.
 */
public final class Unsafe {
    private Unsafe() {}

    public native byte getByte(long address);

    public native int getInt(long address);

    public native void putInt(long address, int value);

    public native long getLong(long address);

    public native long getLong(Object object, long offset);

    public native int getIntVolatile(Object object, long offset);

    public native Object getObject(Object object, long offset);

    public native Object getObjectVolatile(Object object, long offset);

    public native long objectFieldOffset(java.lang.reflect.Field field);

    public native void putLong(long address, long value);

    public native void storeFence();
}
