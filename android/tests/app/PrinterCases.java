package dev.anrscope;

import android.os.Handler;
import android.os.Looper;
import android.util.Printer;
import host.Clock;
import java.io.InputStream;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;

/** Cases of replaced Printers: one scenario per run. */
public final class PrinterCases {
    private static Handler handler;
    private static Field logging;

    private PrinterCases() {}

    /** Another library's Printer. */
    private static final class Theirs implements Printer {
        final List<String> lines = new ArrayList<String>();
        final Printer next;

        Theirs(Printer next) {
            this.next = next;
        }

        @Override
        public void println(String x) {
            lines.add(x);
            if (next != null) {
                next.println(x);
            }
        }
    }

    private static Printer there() throws Exception {
        return (Printer) logging.get(Looper.getMainLooper());
    }

    /** Runs one message with this number. */
    private static void message(int what) {
        handler.sendEmptyMessage(what);
        Looper.hostRunDue();
    }

    /** The queue is idle once, and then the loop quits. */
    private static void idle() throws Exception {
        handler.postDelayed(
                new Runnable() {
                    @Override
                    public void run() {
                        throw new Leave();
                    }
                },
                10);
        try {
            Looper.loop();
        } catch (Leave left) {
            // The loop's message has no end: later code must cope with that.
        }
    }

    private static final class Leave extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private static void say(String what, boolean is) {
        System.out.println(what + " " + is);
    }

    public static void main(String[] words) throws Exception {
        MethodBeat.i(1);
        Clock.virtual(100000);
        Looper.prepareMainLooper();
        handler = new Handler();
        logging = Looper.class.getDeclaredField("mLogging");
        logging.setAccessible(true);
        switch (words[0]) {
            case "chained":
                chained();
                break;
            case "replaced":
                replaced();
                break;
            case "observed":
                observed();
                break;
            case "wrapped":
                wrapped();
                break;
            case "twin":
                twin();
                break;
            case "named":
                named();
                break;
            default:
                foreign();
        }
        LooperMonitor.stop();
        MethodBeat.o(1);
    }

    private static void chained() throws Exception {
        Theirs theirs = new Theirs(null);
        Looper.getMainLooper().setMessageLogging(theirs);
        LooperMonitor.start();
        LooperMonitor.start();
        say("ours", there() != theirs);
        message(11);
        say("theirs has both lines", theirs.lines.size() == 2);
        LooperMonitor.stop();
        say("restored", there() == theirs);
        message(12);
        say("theirs goes on", theirs.lines.size() == 4);
    }

    private static void replaced() throws Exception {
        LooperMonitor.start();
        message(21);
        Theirs theirs = new Theirs(null);
        Looper.getMainLooper().setMessageLogging(theirs);
        message(22);
        say("theirs alone", theirs.lines.size() == 2);
        Clock.advance(2000);
        idle();
        say("ours again when idle", there() != theirs);
        message(23);
        // A queue that is never idle: other hooks on main check the Printer.
        Looper.getMainLooper().setMessageLogging(theirs);
        LooperMonitor.check();
        say("not at once", there() == theirs);
        Clock.advance(60000);
        LooperMonitor.check();
        say("ours again at a check", there() != theirs);
        message(24);
        for (int round = 0; round < 40; round++) {
            Looper.getMainLooper().setMessageLogging(new Theirs(there()));
            Clock.advance(120000);
            LooperMonitor.check();
        }
        int depth = 0;
        for (Printer at = there(); at != null; depth++) {
            Field before = at.getClass().getDeclaredField(at instanceof Theirs ? "next" : "before");
            before.setAccessible(true);
            at = (Printer) before.get(at);
        }
        say("who takes it each time wins in the end", depth < 80);
        message(25);
    }

    /** The app's observer gets each line once. */
    private static void observed() {
        LooperMonitor.start();
        final int[] lines = new int[2];
        Observers.add(
                new Observer() {
                    @Override
                    public void onMessageBegin(String line) {
                        lines[0]++;
                    }

                    @Override
                    public void onMessageEnd(String line) {
                        lines[1]++;
                    }
                });
        message(51);
        message(52);
        say("begins", lines[0] == 2);
        say("ends", lines[1] == 2);
    }

    private static void wrapped() throws Exception {
        LooperMonitor.start();
        Printer ours = there();
        Theirs theirs = new Theirs(ours);
        Looper.getMainLooper().setMessageLogging(theirs);
        message(31);
        Clock.advance(2000);
        LooperMonitor.check();
        say("ours in front", there() != theirs);
        message(32);
        LooperMonitor.stop();
        say("theirs is back", there() == theirs);
        message(33);
        say("theirs has all", theirs.lines.size() == 6);
    }

    private static void twin() throws Exception {
        // Another class loader with the library's classes, as of a plug-in that contains the library, too.
        ClassLoader other =
                new ClassLoader(PrinterCases.class.getClassLoader()) {
                    @Override
                    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                        if (!name.startsWith("dev.anrscope.")) {
                            return super.loadClass(name, resolve);
                        }
                        Class<?> known = findLoadedClass(name);
                        if (known != null) {
                            return known;
                        }
                        try (InputStream in = getResourceAsStream(name.replace('.', '/') + ".class")) {
                            byte[] bytes = in.readAllBytes();
                            return defineClass(name, bytes, 0, bytes.length);
                        } catch (java.io.IOException unreadable) {
                            throw new ClassNotFoundException(name);
                        }
                    }
                };
        Class<?> lines = other.loadClass("dev.anrscope.LooperMonitor$Lines");
        Constructor<?> made = lines.getDeclaredConstructor(Printer.class);
        made.setAccessible(true);
        Printer theirs = (Printer) made.newInstance((Printer) null);
        // Its copy of the library is not loaded: it only forwards.
        Field over = lines.getDeclaredField("over");
        over.setAccessible(true);
        over.setBoolean(theirs, true);
        say("a twin", lines != Class.forName("dev.anrscope.LooperMonitor$Lines"));
        Looper.getMainLooper().setMessageLogging(theirs);
        LooperMonitor.start();
        say("left", there() == theirs);
        message(41);
        Clock.advance(60000);
        idle();
        say("left for good", there() == theirs);
    }

    /** A handler with its own description. */
    private static final class Named extends Handler {
        @Override
        public String toString() {
            return "OrderQueue(7 of 9)[a.B@1f, {x}: late]";
        }
    }

    private static void named() {
        LooperMonitor.start();
        Handler named = new Named();
        for (int time = 0; time < 600; time++) {
            named.sendEmptyMessage(-41);
        }
        named.post(() -> {});
        Looper.hostRunDue();
        message(42);
    }

    private static void foreign() throws Exception {
        Theirs theirs = new Theirs(null);
        Looper.getMainLooper().setMessageLogging(theirs);
        LooperMonitor.start();
        there().println("# dispatching Handler (a.B) {1f} null: 5");
        message(51);
        message(52);
        say("theirs has them", theirs.lines.size() == 5);
    }
}
