package dev.anrscope;

import android.os.Build;
import android.os.Handler;
import android.os.Looper;
import android.os.Message;
import android.os.MessageQueue;
import android.os.SystemClock;
import java.lang.reflect.Field;

/**
 * The messages waiting in main's queue, read without its lock: the lock's owner may wait for the thread that would ask
 * for it, and {@code Looper.dump} calls {@code toString} of the app's objects with the lock held. Read by {@code
 * MessageQueue.mMessages} and {@code Message.next}, which apps may use up to target level 36 (AOSP 34, {@code
 * MessageQueue.java} and {@code Message.java}: {@code @UnsupportedAppUsage}).
 *
 * <p>Of each message: when it is due, {@code what}, and the classes of its target and callback. Never {@code obj}, an
 * argument or data.
 *
 * <p>Other threads change the list meanwhile. A message that left it was recycled, and its {@code next} leads into the
 * pool or into another queue: the walk ends at a message that main's queue cannot contain.
 */
final class WaitingMessages {
    /** Maximum number of messages written. */
    private static final int MAX_SHOWN = 200;

    /** Maximum number of messages counted: ten milliseconds of reflection. */
    private static final int MAX_COUNTED = 10000;

    /**
     * From this level on the queue of an app that targets it keeps its messages elsewhere, and {@code mMessages} is
     * always null (AOSP 17, {@code CombinedDeliMessageQueue/MessageQueue.java}).
     */
    private static final int CONCURRENT_SDK = 37;

    private static Field queue;
    private static Field head;
    private static Field next;
    /** The system denies access to the fields. */
    private static boolean denied;
    /** The recording already notes why they cannot be read. */
    private static boolean noted;

    private WaitingMessages() {}

    /**
     * One message per line in the form of {@code Looper.dump}, and a line with their number; empty if they cannot be
     * read.
     */
    static String read(Looper main) {
        if (denied) {
            return "";
        }
        try {
            if (next == null) {
                queue = field(Looper.class, "mQueue");
                head = field(MessageQueue.class, "mMessages");
                next = field(Message.class, "next");
            }
            Message first = (Message) head.get(queue.get(main));
            if (first != null || Build.VERSION.SDK_INT < CONCURRENT_SDK) {
                return walk(main, first);
            }
            note("MessageQueue.mMessages is empty, and from Android 17 on a queue may keep them elsewhere");
        } catch (Throwable refusal) {
            denied = true;
            note(refusal.getClass().getName());
        }
        return "";
    }

    private static void note(String why) {
        if (!noted) {
            noted = true;
            StackSampler.notice("the waiting messages cannot be read: " + why);
        }
    }

    private static String walk(Looper main, Message first) throws IllegalAccessException {
        StringBuilder lines = new StringBuilder();
        long now = SystemClock.uptimeMillis();
        long before = 0;
        int count = 0;
        Message at = first;
        for (; at != null && count < MAX_COUNTED; count++) {
            long when = at.getWhen();
            Handler target = at.getTarget();
            // A barrier has no target but a due time; a recycled message has neither. The list is in the order of time.
            if (when < before || (target == null ? when == 0 : target.getLooper() != main)) {
                break;
            }
            before = when;
            if (count < MAX_SHOWN) {
                line(lines, count, at, target, when - now);
            }
            at = (Message) next.get(at);
        }
        lines.append("(Total messages: ").append(at == null ? "" : "at least ").append(count);
        lines.append(", shown: ").append(Math.min(count, MAX_SHOWN)).append(")\n");
        return lines.toString();
    }

    private static void line(StringBuilder lines, int place, Message message, Handler target, long ahead) {
        lines.append("Message ").append(place).append(": { when=").append(ahead > 0 ? "+" : "").append(ahead).append("ms");
        Runnable callback = message.getCallback();
        if (target == null) {
            lines.append(" barrier=yes");
        } else if (callback != null) {
            lines.append(" callback=").append(callback.getClass().getName());
        } else {
            lines.append(" what=").append(message.what);
        }
        if (target != null) {
            lines.append(" target=").append(target.getClass().getName());
        }
        lines.append(" }\n");
    }

    private static Field field(Class<?> of, String name) throws NoSuchFieldException {
        Field field = of.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
