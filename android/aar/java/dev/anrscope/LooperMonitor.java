package dev.anrscope;

import android.os.Looper;
import android.os.MessageQueue;
import android.os.SystemClock;
import android.util.Printer;
import java.lang.reflect.Field;

/**
 * Tells the library of main's messages: a Printer that stands in front of the one that is there, and takes its place again when
 * somebody replaces it.
 *
 * <p>On main, for each of the Looper's two lines: the library's native call, and before it one look into a table of the classes'
 * names that were met; a message whose classes are known allocates nothing here. All decisions are the library's.
 */
final class LooperMonitor implements MessageQueue.IdleHandler {
    /**
     * While the queue is idle, and at {@link #look}, the Printer is looked after this often, ms. Twice as long after each time
     * that it was replaced, up to a minute, and after so many times no more: two that take it from each other would
     * stand in front of each other without end.
     */
    private static final long EVERY_MS = 1000;

    private static final long LONGEST_MS = 60000;
    private static final int TIMES = 16;

    /** Looks without a line after which there is no Printer. */
    private static final int SILENCES = 3;

    private static LooperMonitor only;

    private final Looper looper;
    /** {@code Looper.mLogging}; null where it may not be read. */
    private final Field logging;

    private Lines printer;
    private long looked;
    private long every = EVERY_MS;
    private int taken;
    private boolean twinTold;
    /** No Printer tells of the messages: main's outermost calls stand for them. */
    private boolean without;
    /** When it was looked last whether lines come, how many messages there had been, and how often none had come. */
    private long heardAt;
    private long heard;
    private int silences;

    private LooperMonitor(Looper looper) {
        this.looper = looper;
        logging = field();
    }

    /** Starts, or is brought into line with the option {@code printer}; on main, which has a Looper. */
    static void start() {
        boolean wanted = printerWanted();
        if (only == null) {
            only = new LooperMonitor(Looper.myLooper());
            watch();
            Looper.myQueue().addIdleHandler(only);
        } else if (wanted == (only.printer != null)) {
            return;
        }
        if (wanted) {
            only.without(false);
            only.take();
        } else {
            only.release();
            only.without(true);
        }
    }

    private static boolean printerWanted() {
        return Natives.number("printer") != 0;
    }

    private void without(boolean now) {
        if (without != now) {
            without = now;
            outermost(now);
        }
    }

    /**
     * The queue is idle again, so messages ran since it was idle last. A system that lets a Printer be set and calls none, or somebody who
     * keeps the lines to himself: three times without one, a second apart.
     */
    private void listen(long now) {
        if (printer == null || now - heardAt < EVERY_MS) {
            return;
        }
        heardAt = now;
        long told = told();
        silences = told == heard ? silences + 1 : 0;
        heard = told;
        if (silences == SILENCES && !without) {
            notice("the Looper calls no Printer: main's outermost calls stand for its messages");
        }
        without(silences >= SILENCES);
    }

    /** Ends; on main. The Printer that was there before is there again, unless somebody stands in front of ours. */
    static void stop() {
        if (only != null) {
            unwatch();
            Looper.myQueue().removeIdleHandler(only);
            only.release();
            only.without(false);
            only = null;
        }
    }

    /** Whether it runs. */
    static boolean isRunning() {
        return only != null;
    }

    /**
     * A cheap look whether the Printer is still ours: for whoever of the shims is called on main anyway (frames, life cycle,
     * messages of the ActivityThread), so that a queue that is never idle is looked after, too.
     */
    static void look() {
        LooperMonitor monitor = only;
        if (monitor != null) {
            monitor.lookAt(SystemClock.uptimeMillis());
        }
    }

    @Override
    public boolean queueIdle() {
        long now = SystemClock.uptimeMillis();
        lookAt(now);
        listen(now);
        IdleMonitor.settle();
        return true;
    }

    private void lookAt(long now) {
        if (printer != null && now - looked >= every && taken < TIMES) {
            looked = now;
            take();
        }
    }

    /** Puts our Printer in front of the one that is there. */
    private void take() {
        if (logging == null && printer != null) {
            // Nobody can say whether it is still there, and twice would be worse.
            return;
        }
        Printer there = null;
        if (logging != null) {
            try {
                there = (Printer) logging.get(looper);
            } catch (Throwable denied) {
                return;
            }
            if (there != null && there == printer) {
                return;
            }
            if (there != null && isTwin(there)) {
                if (!twinTold) {
                    twinTold = true;
                    notice("the Looper's Printer is that of another copy of this library: it tells of the messages");
                }
                return;
            }
        }
        if (printer != null) {
            // Whoever replaced it may call it still.
            printer.over = true;
            every = Math.min(2 * every, LONGEST_MS);
            taken++;
            notice("the Looper's Printer was replaced, and is ours again");
        }
        printer = new Lines(there);
        looper.setMessageLogging(printer);
    }

    /** Our own class, of another class loader: two that take each other's place would do so for ever. */
    private static boolean isTwin(Printer there) {
        Class<?> theirs = there.getClass();
        return theirs != Lines.class && theirs.getName().equals(Lines.class.getName());
    }

    private void release() {
        Lines ours = printer;
        if (ours == null) {
            return;
        }
        ours.over = true;
        printer = null;
        try {
            if (logging == null || logging.get(looper) == ours) {
                looper.setMessageLogging(ours.before);
            }
        } catch (Throwable denied) {
            // It stays, and only hands lines on.
        }
    }

    private static Field field() {
        try {
            Field field = Looper.class.getDeclaredField("mLogging");
            field.setAccessible(true);
            return field;
        } catch (Throwable denied) {
            return null;
        }
    }

    /** What the Looper calls. */
    private static final class Lines implements Printer {
        /** {@code ">>>>> Dispatching to Handler ("} and {@code "<<<<< Finished to Handler ("}. */
        private static final int BEGIN = 30;

        private static final int END = 27;

        /** The length of {@code "Handler ("}, which a handler's description begins with (AOSP Handler.java, API 21 to 34: toString). */
        private static final int HANDLER = 9;

        /** The one that was there. */
        final Printer before;

        /** It takes no lines any more, and only hands them on. */
        boolean over;

        /** What {@link LooperMonitor#line} gave last. */
        private int known;

        Lines(Printer before) {
            this.before = before;
        }

        @Override
        public void println(String x) {
            if (before != null) {
                before.println(x);
            }
            if (over) {
                return;
            }
            int length = x.length();
            int first = length == 0 ? 0 : x.charAt(0);
            int target = 0;
            int callback = 0;
            int what = 0;
            int handler = 0;
            int from = first == '>' ? BEGIN : END;
            int close = x.indexOf(')', from);
            int brace = close < 0 ? -1 : x.indexOf('}', close);
            if ((first == '>' || first == '<') && !isHandler(x, from)) {
                // A handler that describes itself in other words (AOSP Handler.java: toString is not final): where they end is not known.
                target = said(x, from - HANDLER, length);
                int colon = first == '>' ? x.lastIndexOf(':') : -1;
                what = colon > 0 ? decimal(x, colon + 2, length) : 0;
            } else if (brace > 0) {
                target = Names.of(x, from, close, false);
                handler = hex(x, close + 3, brace);
                int end = length;
                if (first == '>') {
                    int colon = x.lastIndexOf(':');
                    if (colon > brace) {
                        end = colon;
                        what = decimal(x, colon + 2, length);
                    }
                }
                callback = callback(x, brace + 2, end);
            }
            known = line(known, first, target, callback, what, handler);
            if (known == 2) {
                over = true;
                return;
            }
            if (known >= 3) {
                FrameMonitor.message(known == 4);
            }
            if (!Observers.none()) {
                if (first == '>') {
                    Observers.messageBegin(x);
                } else {
                    Observers.messageEnd(x);
                }
            }
        }

        /** The class of a callback that describes itself as Object does, or else what it begins with. 0 for none. */
        private static int callback(String x, int from, int end) {
            if (end - from == 4 && x.startsWith("null", from)) {
                return 0;
            }
            int at = x.indexOf('@', from);
            int space = x.indexOf(' ', from);
            if (at < 0 || at >= end || (space >= 0 && space < at)) {
                return said(x, from, end);
            }
            return at > from ? Names.of(x, from, at, false) : 0;
        }

        /** Whether {@code "Handler ("} ends there: some of its characters, since this is asked twice a message. */
        private static boolean isHandler(String x, int end) {
            return x.length() >= end
                    && x.charAt(end - 1) == '('
                    && x.charAt(end - 2) == ' '
                    && x.charAt(end - 3) == 'r'
                    && x.charAt(end - HANDLER) == 'H';
        }

        /** The word that a description begins with; 0 for none, and once there were too many. */
        private static int said(String x, int from, int end) {
            int at = from;
            while (at < end && (Character.isJavaIdentifierPart(x.charAt(at)) || x.charAt(at) == '.')) {
                at++;
            }
            return at > from ? Names.of(x, from, at, true) : 0;
        }

        private static int hex(String x, int from, int end) {
            int value = 0;
            for (int at = from; at < end; at++) {
                value = value << 4 | (Character.digit(x.charAt(at), 16) & 15);
            }
            return value;
        }

        private static int decimal(String x, int from, int end) {
            boolean negative = from < end && x.charAt(from) == '-';
            int value = 0;
            for (int at = negative ? from + 1 : from; at < end; at++) {
                value = value * 10 + (x.charAt(at) - '0');
            }
            return negative ? -value : value;
        }
    }

    /** Names that have an id. Only main looks here. */
    private static final class Names {
        /** A name whose place is taken takes it over: a few hundred are met in an app. */
        private static final int PLACES = 512;

        private static final String[] NAMES = new String[PLACES];
        private static final int[] IDS = new int[PLACES];

        /** Handlers and callbacks that may still get a text although they do not describe themselves as Android or Object do: some say another
         * thing each time, and the recording's texts are bounded. */
        private static int describing = 500;

        private Names() {}

        /** The id of a part of {@code x}: a class, or what a callback has said of itself. */
        static int of(String x, int from, int end, boolean said) {
            int length = end - from;
            if (length <= 0) {
                return 0;
            }
            // Names differ at their ends and in their lengths, and hardly at their begins.
            int hash = length;
            for (int at = end - 1; at >= from && at > end - 7; at--) {
                hash = hash * 31 + x.charAt(at);
            }
            hash = hash * 31 + x.charAt(from + (length >> 1));
            int place = (hash ^ hash >>> 9) & PLACES - 1;
            String name = NAMES[place];
            if (name != null && name.length() == length && x.startsWith(name, from)) {
                return IDS[place];
            }
            if (said && (describing == 0 || --describing == 0)) {
                return 0;
            }
            name = x.substring(from, end);
            int id = text(name, said);
            NAMES[place] = name;
            IDS[place] = id;
            return id;
        }
    }

    /**
     * The last messages, oldest first, and the ones that are open: {@code {target callback: what -> ms}}, a line each.
     *
     * @param count of them at most; 200 are kept, 5,000 with the option {@code density}
     */
    static native String history(int count);

    /** Since it was cleared: 0 the messages, 1 the ms they took, 2 the ms that passed; -1 clears. */
    static native long density(int what);

    private static native void outermost(boolean on);

    /** How many messages were told of. */
    private static native long told();

    private static native void watch();

    private static native void unwatch();

    private static native int line(int known, int first, int target, int callback, int what, int handler);

    private static native int text(String text, boolean said);

    private static native void notice(String text);
}
