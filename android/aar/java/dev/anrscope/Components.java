package dev.anrscope;

import android.content.BroadcastReceiver;
import android.os.Message;

/**
 * The component of the app behind a stalled message of {@code ActivityThread.H}: which receiver or service the system
 * asked main to run.
 *
 * <p>When such a message begins, main stores a reference to its {@code obj}, and nothing else: no text, no reflection.
 * Only if the message stalls, the sampler calls {@code toString} of it. AOSP's records describe themselves
 * ({@code core/java/android/app/ActivityThread.java}; the texts were read in copies of API 21, 28 or 29, 33, 34 and 36):
 *
 * <pre>
 * ReceiverData{intent=Intent { act=... flg=0x... cmp=PACKAGE/CLASS (has extras) } packageName=... }
 * CreateServiceData{token=... className=CLASS packageName=... intent=...}
 * BindServiceData{token=... intent=Intent { cmp=PACKAGE/CLASS }}
 * ServiceArgsData{token=... startId=... args=Intent { cmp=PACKAGE/CLASS }}
 * </pre>
 *
 * <p>Of the text, the class and one flag are kept; the rest, which has the intent's action and data, is dropped. The
 * records' fields could be read by reflection instead ({@code @UnsupportedAppUsage} without a maximum target level, API
 * 28 to 36), but ART reports each such access of a debuggable app to the log and to StrictMode. {@code toString} is
 * Object's, and reports nothing.
 *
 * <p>{@code toString} of an object of the app could take one of its locks. So it is called for these four classes alone,
 * and for a broadcast only while it has no result extras: {@code Bundle.toString} locks the bundle and describes what is
 * in it.
 */
final class Components {
    // AOSP ActivityThread.java, class H, API 21 to 36.
    private static final int RECEIVER = 113;
    private static final int CREATE_SERVICE = 114;
    private static final int SERVICE_ARGS = 115;
    private static final int BIND_SERVICE = 121;
    private static final int UNBIND_SERVICE = 122;

    private static final String RECORDS = "android.app.ActivityThread$";

    /** AOSP Intent.java, all levels: FLAG_RECEIVER_FOREGROUND. */
    private static final long RECEIVER_FOREGROUND = 0x10000000;

    /** The longest class name that is recorded. */
    private static final int MAX_NAME = 512;

    /** The longest text that is searched: an intent may have a long action. */
    private static final int MAX_TEXT = 64 << 10;

    /** The Printer reported the message that main is in. Main only. */
    private static boolean announced;

    /** {@code what} and due time, uptime ms, of the message whose record is {@link #open}. Main writes them first. */
    private static int what;

    private static long due;

    /** The record of the message that main is in; null if it has none. Main writes it. */
    private static volatile Object open;

    /** The message that was examined last. Sampler only. */
    private static long seen;

    private static boolean off;

    private Components() {}

    /** The Printer reported a message's begin or end: the record of another message is no longer needed. On main. */
    static void bound(boolean begins) {
        announced = begins;
        if (open != null) {
            open = null;
        }
    }

    /** {@code ActivityThread.H} is about to handle this message. On main. */
    static void begin(Message message) {
        int now = message.what;
        boolean has = now >= RECEIVER && now <= SERVICE_ARGS || now == BIND_SERVICE || now == UNBIND_SERVICE;
        // Without a Printer nothing would say when the message ends.
        if (has && announced) {
            what = now;
            due = message.getWhen();
            open = message.obj;
        }
    }

    /** Main stalls: records the component behind its message, once a message. On the sampler. */
    static void describe() {
        if (off) {
            return;
        }
        try {
            long since = since();
            Object record = open;
            if (record == null || since == 0 || since == seen) {
                return;
            }
            int asked = what;
            long when = due;
            String text = text(record);
            // Main was in this message all the time: the values belong together.
            if (open != record || since() != since) {
                return;
            }
            seen = since;
            String name = text == null ? null : name(asked, text);
            if (name != null) {
                component(since, asked, name, asked == RECEIVER ? foreground(text) : -1, when);
            }
        } catch (Throwable fault) {
            off = true;
            StackSampler.notice("components are named no more: " + fault.getClass().getName());
        }
    }

    /** The record's description; null if that may run code of the app, or fails now. */
    private static String text(Object record) {
        String type = record.getClass().getName();
        if (!type.startsWith(RECORDS)) {
            return null;
        }
        type = type.substring(RECORDS.length());
        if (type.equals("ReceiverData")) {
            BroadcastReceiver.PendingResult result = (BroadcastReceiver.PendingResult) record;
            if (result.getResultExtras(false) != null) {
                return null;
            }
        } else if (!type.equals("CreateServiceData") && !type.equals("BindServiceData") && !type.equals("ServiceArgsData")) {
            return null;
        }
        try {
            String text = record.toString();
            return text == null || text.length() > MAX_TEXT ? null : text;
        } catch (RuntimeException changed) {
            // The app changes the intent meanwhile; its class stays unknown.
            return null;
        }
    }

    /** The component's class in a record's description; null if it names no class. */
    static String name(int what, String text) {
        if (what == CREATE_SERVICE) {
            int at = text.indexOf(" className=");
            return at < 0 ? null : checked(word(text, at + " className=".length()));
        }
        int at = component(text);
        if (at < 0) {
            return null;
        }
        // ComponentName.flattenToShortString: a class in the package is written without it.
        String flat = word(text, at);
        int slash = flat.indexOf('/');
        if (slash <= 0) {
            return null;
        }
        String type = flat.substring(slash + 1);
        return checked(type.startsWith(".") ? flat.substring(0, slash) + type : type);
    }

    /**
     * Where the component of the intent begins, -1 if it has none. An action may contain anything, and comes before; a
     * clip and a selector come after (AOSP Intent.java, toShortString), and may have a component of their own.
     */
    private static int component(String text) {
        int end = text.length();
        for (String after : new String[] {" clip={", " sel=", " (has clip)", " (has extras)"}) {
            int at = text.indexOf(after);
            end = at < 0 ? end : Math.min(end, at);
        }
        int at = text.lastIndexOf(" cmp=", end);
        return at < 0 ? -1 : at + " cmp=".length();
    }

    /** Whether a broadcast is a foreground one: 1, 0, or -1 if the text does not say. */
    static int foreground(String text) {
        int at = component(text);
        int flags = at < 0 ? -1 : text.lastIndexOf(" flg=0x", at);
        if (flags < 0) {
            // An intent whose flags are 0 prints none.
            return at < 0 ? -1 : 0;
        }
        try {
            long value = Long.parseLong(word(text, flags + " flg=0x".length()), 16);
            return (value & RECEIVER_FOREGROUND) != 0 ? 1 : 0;
        } catch (NumberFormatException other) {
            return -1;
        }
    }

    /** The text from there to the next blank or closing brace. */
    private static String word(String text, int from) {
        int end = from;
        while (end < text.length() && text.charAt(end) != ' ' && text.charAt(end) != '}') {
            end++;
        }
        return text.substring(from, end);
    }

    /** The name if it can be that of a class, else null. */
    private static String checked(String name) {
        if (name.length() > MAX_NAME || name.isEmpty() || !Character.isJavaIdentifierStart(name.charAt(0))) {
            return null;
        }
        for (int i = 0; i < name.length(); i++) {
            if (name.charAt(i) != '.' && !Character.isJavaIdentifierPart(name.charAt(i))) {
                return null;
            }
        }
        return name;
    }

    /** When main's message began, BOOTTIME ns; 0 if it is in none. */
    private static native long since();

    /** {@code foreground}: 1, 0, or -1 if it is unknown; {@code dueMs}: when the message was due, uptime ms. */
    private static native void component(long since, int what, String name, int foreground, long dueMs);
}
