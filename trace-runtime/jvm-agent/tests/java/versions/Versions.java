package versions;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.ObjectStreamClass;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;

/** Prints the serial versions of classes with synchronized methods, and waits for the lock of one. */
public class Versions {
    static class Simple implements Serializable {
        synchronized int of() {
            return Versions.work();
        }
    }

    public static class Cart extends ArrayList<String> implements Cloneable, Callable<int[][]> {
        static final int[] TABLE = {1, 2};
        public transient volatile List<?> items;
        protected long total = TABLE[1];
        private static String cache = "a";
        private transient Object gone;
        private Versions[] kept;

        public Cart(int... sizes) {
            this(cache, sizes);
        }

        private Cart(String name, int[] sizes) {
            add(name + sizes.length);
        }

        @Override
        public synchronized boolean add(String item) {
            return Versions.work() > 0 && super.add(item);
        }

        static synchronized void clearAll(Cart... carts) {
            for (Cart cart : carts) {
                Runnable clear = cart::clear;
                clear.run();
            }
            Versions.work();
        }

        @Override
        public final synchronized int[][] call() {
            return new int[Versions.work()][];
        }

        private synchronized void unseen() {
            Versions.work();
        }
    }

    protected abstract static class Base<T> implements Serializable, Comparable<T> {
        protected synchronized void hold(CountDownLatch held, CountDownLatch wanted) throws Exception {
            held.countDown();
            wanted.await();
            Thread.sleep(300);
        }

        abstract T made();

        native void never();
    }

    private static final class Leaf extends Base<Leaf> {
        @Override
        public synchronized int compareTo(Leaf other) {
            return Versions.work();
        }

        @Override
        synchronized Leaf made() {
            return Versions.work() > 0 ? this : null;
        }
    }

    static class Declared implements Serializable {
        private static final long serialVersionUID = 42;

        synchronized int of() {
            return Versions.work();
        }
    }

    static class Failure extends RuntimeException {
        @Override
        public synchronized Throwable fillInStackTrace() {
            Versions.work();
            return super.fillInStackTrace();
        }
    }

    enum Kind implements Callable<Integer> {
        ONE;

        @Override
        public synchronized Integer call() {
            return Versions.work();
        }
    }

    record Point(int x) implements Serializable {
        synchronized int doubled() {
            return x * Versions.work();
        }
    }

    /** Too long to be left out. */
    static int work() {
        int sum = 0;
        for (int n = 0; n < 100; n++) {
            sum += n % 3;
        }
        return sum;
    }

    public static void main(String[] arguments) throws Exception {
        Class<?>[] all = {Simple.class, Cart.class, Base.class, Leaf.class, Declared.class, Failure.class, Kind.class, Point.class};
        for (Class<?> one : all) {
            System.out.println(one.getName() + " " + ObjectStreamClass.lookup(one).getSerialVersionUID());
        }
        Cart.clearAll(new Cart(1, 2), new Cart());
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new Object[] {new Simple(), new Cart(3), new Leaf(), new Failure(), Kind.ONE, new Point(3)});
        }
        System.out.println(new String(bytes.toByteArray(), "ISO-8859-1").hashCode());
        Object[] read = (Object[]) new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
        System.out.println(read[1] + " " + ((Point) read[5]).doubled() + " " + ((Simple) read[0]).of() + Kind.ONE.call());

        Leaf leaf = new Leaf();
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch wanted = new CountDownLatch(1);
        Thread owner = new Thread(() -> {
            try {
                leaf.hold(held, wanted);
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, "owner");
        owner.start();
        held.await();
        wanted.countDown();
        System.out.println(leaf.compareTo(leaf));
        owner.join();
    }
}
