package dev.anrscope;

import android.app.ActivityManager;
import android.content.Context;
import android.hardware.display.DisplayManager;
import android.os.Handler;
import android.os.PowerManager;
import host.HostApp;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Main is in one message for longer than it should be, and the reason is not in main. Words: what main does, for how
 * many ms of CPU time or until how many ms have passed, a file, how many other threads of the app compute, how many
 * write to the file's directory, {@code signal} if the system lists the app and sends SIGQUIT, and options. Prints
 * {@code hangs} when main begins. Real time.
 */
public final class PhoneLife {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static volatile long began;
    private static volatile boolean over;
    static volatile Object kept;
    static volatile double sum;

    private PhoneLife() {}

    private static long cpuMs() {
        return THREADS.getCurrentThreadCpuTime() / 1_000_000;
    }

    private static boolean isWithin(long ms) {
        return System.nanoTime() - began < ms * 1_000_000;
    }

    private static void compute() {
        double local = sum;
        for (int i = 1; i < 20_000; i++) {
            local += Math.sqrt(i) / i;
        }
        sum = local;
    }

    /** Computes until it has had so much CPU time, or for so long. */
    private static void compute(long cpu, long ms) {
        long until = cpuMs() + cpu;
        while (cpuMs() < until && isWithin(ms)) {
            compute();
        }
    }

    /** Writes small records and waits until each is stored. */
    private static void store(String file, long ms) throws IOException {
        try (RandomAccessFile out = new RandomAccessFile(file, "rw")) {
            while (isWithin(ms)) {
                out.write(new byte[512]);
                out.getFD().sync();
            }
        }
    }

    /** Reads bytes all over a mapped file, with a little work on each. */
    private static void look(String file, long ms) throws IOException {
        try (RandomAccessFile in = new RandomAccessFile(file, "r")) {
            MappedByteBuffer bytes = in.getChannel().map(FileChannel.MapMode.READ_ONLY, 0, in.length());
            Random random = new Random(1);
            while (isWithin(ms)) {
                sum += bytes.get(random.nextInt(bytes.capacity()));
            }
        }
    }

    /** Keeps the heap almost full and goes on allocating. */
    private static void allocate(long ms) {
        Runtime runtime = Runtime.getRuntime();
        long room = runtime.maxMemory() - (runtime.totalMemory() - runtime.freeMemory());
        List<byte[]> live = new ArrayList<>();
        for (long bytes = 0; bytes < room * 78 / 100; bytes += 4096) {
            live.add(new byte[4096 - 16]);
        }
        kept = live;
        Random random = new Random(1);
        while (isWithin(ms)) {
            for (int i = 0; i < 256; i++) {
                live.set(random.nextInt(live.size()), new byte[4096 - 16]);
            }
        }
        kept = null;
    }

    /** Waits for a time of the wall clock that is about to come. */
    private static void waitForTheClock(long cpu, long ms) throws InterruptedException {
        long until = System.currentTimeMillis() + 1_500;
        while (System.currentTimeMillis() < until && isWithin(ms)) {
            if (cpu > 0) {
                compute();
            } else {
                Thread.sleep(20);
            }
        }
    }

    private static void message(String task, long cpu, long ms, String file) {
        began = System.nanoTime();
        System.out.println("hangs");
        try {
            switch (task) {
                case "compute":
                    // Without a reason it takes no longer than its CPU time.
                    compute(cpu, ms * 3);
                    break;
                case "store":
                    store(file, ms);
                    break;
                case "look":
                    look(file, ms);
                    break;
                case "allocate":
                    allocate(ms);
                    break;
                case "clock":
                    waitForTheClock(cpu, ms);
                    break;
                default:
                    throw new IllegalArgumentException(task);
            }
        } catch (IOException | InterruptedException fault) {
            throw new AssertionError(fault);
        }
        System.out.println("took " + (System.nanoTime() - began) / 1_000_000);
        over = true;
    }

    private static void other(String name, SystemProcess.Work work) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                while (began == 0) {
                                    Thread.sleep(1);
                                }
                                work.run();
                            } catch (Exception fault) {
                                throw new AssertionError(fault);
                            }
                        },
                        name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void write(String file, int number) throws IOException {
        ByteBuffer block = ByteBuffer.allocateDirect(1 << 20);
        try (RandomAccessFile out = new RandomAccessFile(file + ".export" + number, "rw")) {
            while (!over) {
                // Stored at once, as an export or a download does: the page cache would take it all.
                out.getChannel().position(out.getChannel().position() % (64 << 20));
                for (int blocks = 0; blocks < 4; blocks++) {
                    block.clear();
                    out.getChannel().write(block);
                }
                out.getFD().sync();
            }
        }
    }

    public static void main(String[] words) {
        HostApp.SERVICES.put(Context.DISPLAY_SERVICE, new DisplayManager());
        HostApp.SERVICES.put(Context.ACTIVITY_SERVICE, new ActivityManager());
        HostApp.SERVICES.put(Context.POWER_SERVICE, PowerManager.host());
        String task = words[0];
        long cpu = Long.parseLong(words[1]);
        long ms = Long.parseLong(words[2]);
        String file = words[3];
        AppScript script = new AppScript(false, () -> {});
        Anrscope.install(script.app, TestOptions.add(new Config.Builder(), words, 7).build());
        AppScript.Home home = new AppScript.Home();
        script.show(10, home);
        for (int number = 1; number <= Integer.parseInt(words[4]); number++) {
            other("encoder-" + number, () -> {
                while (!over) {
                    compute();
                }
            });
        }
        for (int number = 1; number <= Integer.parseInt(words[5]); number++) {
            int writer = number;
            other("export-" + number, () -> write(file, writer));
        }
        if (words[6].equals("signal")) {
            other("Binder:system", () -> {
                while (isWithin(ms)) {
                    Thread.sleep(5);
                }
                SystemProcess.reportAnr();
            });
        }
        script.then(300, () -> new Handler().post(() -> message(task, cpu, ms, file)));
        script.until("the end of the hang", () -> over);
        // The last poll and the reports.
        script.run(700);
    }
}
