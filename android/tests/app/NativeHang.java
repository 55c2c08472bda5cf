package dev.anrscope;

import android.os.Handler;
import android.os.Looper;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;

/**
 * Main, or a watched thread, hangs in a C library. Words: the directory of the recording, the library, how, for how
 * many ms, options. Prints {@code hangs} before, and what {@link #stuck} returned after.
 */
public final class NativeHang {
    private NativeHang() {}

    /** Returns the ms that it took; prints {@code inside} with its start and end, BOOTTIME ns. */
    private static native long stuck(int how, long ms);

    /** Watches the calling thread by the C interface, beats, and hangs; returns 1 if it was watched. */
    private static native int game(long ms);

    private static String caught() throws Exception {
        byte[] status = Files.readAllBytes(Paths.get("/proc/self/status"));
        for (String line : new String(status, StandardCharsets.UTF_8).split("\n")) {
            if (line.startsWith("SigCgt:")) {
                return line.substring(7).trim();
            }
        }
        return "";
    }

    private static void message(String how, long ms) {
        System.out.println("hangs");
        int number = java.util.Arrays.asList("spin", "sleep", "mutex").indexOf(how);
        System.out.println("took " + stuck(number, ms));
    }

    private static Thread game(String how, long ms) {
        return new Thread("Game") {
            @Override
            public void run() {
                if (how.equals("game")) {
                    System.out.println("watched " + game(ms));
                    return;
                }
                Anrscope.watch(Thread.currentThread(), 200);
                for (int at = 0; at < 10; at++) {
                    Anrscope.beat();
                    stuck(1, 20);
                }
                System.out.println("took " + stuck(1, ms));
                Anrscope.beat();
                Anrscope.unwatch(Thread.currentThread());
                Anrscope.beat();
            }
        };
    }

    public static void main(String[] words) throws Exception {
        // As on Android, the file is created after the options are known.
        System.setProperty("java.vm.name", "Dalvik");
        MethodBeat.i(1);
        Looper.prepareMainLooper();
        System.load(words[1]);
        String how = words[2];
        long ms = Long.parseLong(words[3]);
        TestOptions.set(words, 4, words.length);
        MethodBeat.destination(words[0]);
        Natives.flush(30000);
        LooperMonitor.start();
        if (how.equals("game") || how.equals("beats")) {
            Thread game = game(how, ms);
            game.start();
            game.join();
        } else {
            new Handler().post(() -> message(how, ms));
            Looper.hostRunDue();
        }
        System.out.println("caught " + caught());
        LooperMonitor.stop();
        Natives.flush(30000);
        MethodBeat.o(1);
    }
}
