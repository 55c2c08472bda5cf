/** Two locks at once, of which one may be the other. */
final class NestedLocks {
    private static int shared;

    private NestedLocks() {}

    static void together(Thread outer, Object inner) {
        synchronized (outer) {
            synchronized (inner == null ? outer : inner) {
                set(outer, inner == null);
            }
        }
    }

    static void apart(Thread outer, Object inner) {
        synchronized (outer) {
            inside(outer, inner);
        }
    }

    private static void inside(Thread outer, Object inner) {
        if (inner == null) {
            set(outer, true);
            return;
        }
        synchronized (inner) {
            set(outer, false);
        }
    }

    private static void set(Thread outer, boolean alone) {
        shared = alone ? outer.hashCode() : 0;
    }
}
