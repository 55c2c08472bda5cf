package dev.anrscope;

import android.os.Handler;
import android.os.HandlerThread;
import android.os.Looper;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * Main's waiting messages are read while other threads post, remove and recycle: each result is well formed, and
 * bounded.
 */
public final class QueueChurn {
    private QueueChurn() {}

    public static void main(String[] words) throws Exception {
        Looper.prepareMainLooper();
        Handler main = new Handler();
        // More than are reported, and at the end of the queue.
        for (int at = 0; at < 300; at++) {
            main.sendEmptyMessageDelayed(5, 900000);
        }
        HandlerThread other = new HandlerThread("other");
        other.start();
        Handler others = new Handler(other.getLooper());
        AtomicBoolean over = new AtomicBoolean();
        Thread[] posters = new Thread[3];
        for (int at = 0; at < posters.length; at++) {
            int what = at;
            posters[at] =
                    new Thread(
                            () -> {
                                while (!over.get()) {
                                    main.sendEmptyMessageDelayed(what, 600000 + what);
                                    // Recycled messages go to another queue and come back.
                                    others.sendEmptyMessage(what);
                                    main.removeMessages(what);
                                }
                            });
            posters[at].start();
        }
        int whole = 0;
        int cut = 0;
        for (int at = 0; at < 5000; at++) {
            String text = WaitingMessages.read(Looper.getMainLooper());
            String[] lines = text.split("\n");
            String last = lines[lines.length - 1];
            if (lines.length > 201 || !last.matches("\\(Total messages: (at least )?\\d+, shown: " + (lines.length - 1) + "\\)")) {
                throw new AssertionError(text);
            }
            for (int line = 0; line < lines.length - 1; line++) {
                if (!lines[line].matches("Message " + line + ": \\{ when=\\+\\d+ms what=\\d target=android.os.Handler }")) {
                    throw new AssertionError(lines[line]);
                }
            }
            if (last.contains("at least")) {
                cut++;
            } else {
                whole++;
            }
        }
        over.set(true);
        for (Thread poster : posters) {
            poster.join();
        }
        other.quit();
        String still = WaitingMessages.read(Looper.getMainLooper());
        System.out.println("read " + (whole + cut) + " " + still.substring(still.lastIndexOf('(')).trim());
    }
}
