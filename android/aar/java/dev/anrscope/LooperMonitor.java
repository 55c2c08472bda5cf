package dev.anrscope;

import android.os.Looper;
import android.os.MessageQueue;
import android.os.SystemClock;
import android.util.Printer;
import java.lang.reflect.Field;

/**
 * Reports main's messages to the library: a Printer placed in front of the app's, which puts itself back when another
 * Printer replaces it.
 *
 * <p>On main, each of the Looper's two lines costs one native call, after one lookup in a table of known class names; a
 * message whose classes are known allocates nothing here. The library makes all decisions.
 */
final class LooperMonitor implements MessageQueue.IdleHandler {
    /**
     * How often, in ms, the Printer is checked, when the queue is idle and at {@link #check}. The interval doubles after
     * each replacement, up to a minute. After this many replacements checks stop: two libraries that replace each
     * other's Printer would otherwise stack up without end.
     */
    private static final long CHECK_INTERVAL_MS = 1000;

    private static final long MAX_INTERVAL_MS = 60000;
    private static final int MAX_REPLACEMENTS = 16;

    /** Number of checks without any line after which no Printer is assumed. */
    private static final int MAX_SILENT_CHECKS = 3;

    private static LooperMonitor only;

    private final Looper looper;
    /** {@code Looper.mLogging}; null where access is denied. */
    private final Field logging;

    private Lines printer;
    private long checked;
    private long every = CHECK_INTERVAL_MS;
    private int taken;
    private boolean twinReported;
    /** No Printer reports messages: main's outermost calls are used instead. */
    private boolean without;
    /** Time of the last check for lines, the message count at that time, and the number of checks without lines. */
    private long heardAt;
    private long heard;
    private int silences;

    private LooperMonitor(Looper looper) {
        this.looper = looper;
        logging = field();
    }

    /** Starts, or applies the option {@code printer}; on main, which has a Looper. */
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
     * The queue is idle again, so messages have run since it was last idle. A system may accept a Printer and never
     * call it, or another Printer may not forward its lines. Detected after three checks without a line, a second
     * apart.
     */
    private void listen(long now) {
        if (printer == null || now - heardAt < CHECK_INTERVAL_MS) {
            return;
        }
        heardAt = now;
        long reported = reported();
        silences = reported == heard ? silences + 1 : 0;
        heard = reported;
        if (silences == MAX_SILENT_CHECKS && !without) {
            notice("the Looper calls no Printer: main's outermost calls stand for its messages");
        }
        without(silences >= MAX_SILENT_CHECKS);
    }

    /** Stops; on main. Restores the previous Printer, unless another one has been placed in front of the library's. */
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
     * A cheap check whether the Printer is still in place. Other hooks that run on main anyway call it (frames,
     * lifecycle, ActivityThread's messages), so that it is also checked in a queue that is never idle.
     */
    static void check() {
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
        if (printer != null && now - checked >= every && taken < MAX_REPLACEMENTS) {
            checked = now;
            take();
        }
    }

    /** Places the library's Printer in front of the current one. */
    private void take() {
        if (logging == null && printer != null) {
            // It is unknown whether the Printer is still there, and adding it twice would be worse.
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
                if (!twinReported) {
                    twinReported = true;
                    notice("the Looper's Printer belongs to another copy of this library, which records the messages");
                }
                return;
            }
        }
        if (printer != null) {
            // The Printer that replaced it may still call it.
            printer.over = true;
            every = Math.min(2 * every, MAX_INTERVAL_MS);
            taken++;
            notice("the Looper's Printer was replaced, and is ours again");
        }
        printer = new Lines(there);
        looper.setMessageLogging(printer);
    }

    /** The library's own class from another class loader: the two would replace each other forever. */
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
            // It stays, and only forwards lines.
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

    /** The Printer that the Looper calls. */
    private static final class Lines implements Printer {
        /** {@code ">>>>> Dispatching to Handler ("} and {@code "<<<<< Finished to Handler ("}. */
        private static final int BEGIN_LENGTH = 30;

        private static final int END_LENGTH = 27;

        /**
         * The length of {@code "Handler ("}, which a handler's description begins with (AOSP Handler.java, API 21 to
         * 34: toString).
         */
        private static final int HANDLER_LENGTH = 9;

        /** The previous Printer. */
        final Printer before;

        /** Stopped: it only forwards lines. */
        boolean over;

        /** Last result of {@link LooperMonitor#line}. */
        private int known;

        Lines(Printer before) {
            this.before = before;
        }

        @Override
        public void println(String x) {
            if (before != null) {
                before.println(x);
            }
            int length = x.length();
            int first = length == 0 ? 0 : x.charAt(0);
            Components.bound(first == '>' && !over);
            if (over) {
                return;
            }
            int target = 0;
            int callback = 0;
            int what = 0;
            int handler = 0;
            int object = 0;
            int from = first == '>' ? BEGIN_LENGTH : END_LENGTH;
            int close = x.indexOf(')', from);
            int brace = close < 0 ? -1 : x.indexOf('}', close);
            if ((first == '>' || first == '<') && !isHandler(x, from)) {
                // A handler with its own description (AOSP Handler.java: toString is not final): where it ends is
                // unknown.
                target = describe(x, from - HANDLER_LENGTH, length);
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
                object = first == '>' ? identity(x, brace + 2, end) : 0;
            }
            known = line(known, first, target, callback, what, handler, object);
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

        /**
         * Class of a callback with Object's description, or else the start of its description. 0 if there is no
         * callback.
         */
        private static int callback(String x, int from, int end) {
            if (end - from == 4 && x.startsWith("null", from)) {
                return 0;
            }
            int at = x.indexOf('@', from);
            int space = x.indexOf(' ', from);
            if (at < 0 || at >= end || (space >= 0 && space < at)) {
                return describe(x, from, end);
            }
            return at > from ? Names.of(x, from, at, false) : 0;
        }

        /** The identity hash code in Object's description of a callback (OpenJDK, AOSP libcore); 0 if it has another one. */
        private static int identity(String x, int from, int end) {
            int at = x.lastIndexOf('@', end - 1) + 1;
            if (at <= from || end - at < 1 || end - at > 8) {
                return 0;
            }
            for (int i = at; i < end; i++) {
                if (Character.digit(x.charAt(i), 16) < 0) {
                    return 0;
                }
            }
            return hex(x, at, end);
        }

        /** Whether {@code "Handler ("} ends there. Checks only some characters, because it runs twice per message. */
        private static boolean isHandler(String x, int end) {
            return x.length() >= end
                    && x.charAt(end - 1) == '('
                    && x.charAt(end - 2) == ' '
                    && x.charAt(end - 3) == 'r'
                    && x.charAt(end - HANDLER_LENGTH) == 'H';
        }

        /** The first word of a description; 0 if it has none, or if there have been too many. */
        private static int describe(String x, int from, int end) {
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

    /** Names that have an id. Used on main only. */
    private static final class Names {
        /** On a collision, the new name replaces the old one: an app has a few hundred names. */
        private static final int NAME_SLOTS = 512;

        private static final String[] NAMES = new String[NAME_SLOTS];
        private static final int[] IDS = new int[NAME_SLOTS];

        /**
         * How many more descriptions that differ from Android's and Object's form may get a text. Some handlers return
         * a different one each time, and the recording's texts are bounded.
         */
        private static int describing = 500;

        private Names() {}

        /** The id of a part of {@code x}: a class name, or a callback's description of itself. */
        static int of(String x, int from, int end, boolean description) {
            int length = end - from;
            if (length <= 0) {
                return 0;
            }
            // Names differ in their ends and lengths, rarely in their beginnings.
            int hash = length;
            for (int at = end - 1; at >= from && at > end - 7; at--) {
                hash = hash * 31 + x.charAt(at);
            }
            hash = hash * 31 + x.charAt(from + (length >> 1));
            int place = (hash ^ hash >>> 9) & NAME_SLOTS - 1;
            String name = NAMES[place];
            if (name != null && name.length() == length && x.startsWith(name, from)) {
                return IDS[place];
            }
            if (description && (describing == 0 || --describing == 0)) {
                return 0;
            }
            name = x.substring(from, end);
            int id = text(name, description);
            NAMES[place] = name;
            IDS[place] = id;
            return id;
        }
    }

    /**
     * The last messages, oldest first, and the open ones: {@code {target callback: what -> ms}}, one per line.
     *
     * @param count maximum number of messages; 200 are kept, 5,000 with the option {@code density}
     */
    static native String history(int count);

    /** Totals since they were cleared: 0 messages, 1 ms in messages, 2 ms elapsed; -1 clears. */
    static native long density(int what);

    private static native void outermost(boolean on);

    /** Number of messages reported. */
    private static native long reported();

    private static native void watch();

    private static native void unwatch();

    private static native int line(int known, int first, int target, int callback, int what, int handler, int object);

    private static native int text(String text, boolean description);

    private static native void notice(String text);
}
