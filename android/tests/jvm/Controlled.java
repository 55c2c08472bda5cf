import dev.anrscope.MethodBeat;

/**
 * Changes recording at run time. It is also the system's class loader, instrumented by hand: it records each class that
 * it loads, so events come while MethodBeat itself is initialised and while it looks up a class.
 */
public final class Controlled extends ClassLoader {
    public Controlled(ClassLoader parent) {
        super(parent);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        MethodBeat.i(9);
        try {
            return super.loadClass(name, resolve);
        } finally {
            MethodBeat.o(9);
        }
    }

    private static void call(int id) {
        MethodBeat.i(id);
        MethodBeat.o(id);
    }

    public static void main(String[] args) {
        call(5);
        MethodBeat.method(5, false);
        call(5);
        call(6);
        // Ids that belong to no method: never recorded, regardless of the request.
        MethodBeat.method(0xFFFFE, true);
        call(0);
        call(-1);
        call(0xFF000);
        call(0x100005);
        MethodBeat.pause();
        call(7);
        MethodBeat.resume(true);
        call(8);
        MethodBeat.method(5, true);
        call(5);
        MethodBeat.resume(false);
        call(10);
    }
}
