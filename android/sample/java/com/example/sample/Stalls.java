package com.example.sample;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.RandomAccessFile;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;

/**
 * Ways to stall: each blocks the caller for about the given time. Uses no Android class, so the same stalls run on a
 * JVM.
 */
public final class Stalls {
    /** A lock whose class name identifies it in a report. */
    private static final class PriceStore {}

    /** The other lock of {@link #deadlock}. */
    private static final class Cart {}

    private Stalls() {}

    /** Computes. */
    public static void busy(long millis) {
        Work.compute(millis);
    }

    /** Sleeps. */
    public static void sleep(long millis) {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException woken) {
            Thread.currentThread().interrupt();
        }
    }

    /** Waits for a lock that the thread {@code SyncWorker} holds for the given time. */
    public static void lockHeldByWorker(long millis) {
        PriceStore prices = new PriceStore();
        CountDownLatch held = new CountDownLatch(1);
        start("SyncWorker", () -> {
            synchronized (prices) {
                held.countDown();
                download(millis);
            }
        });
        await(held);
        synchronized (prices) {
            Work.compute(1);
        }
    }

    private static void download(long millis) {
        sleep(millis);
    }

    /** Deadlock: waits forever for a lock of a thread that waits for the caller's lock. */
    public static void deadlock() {
        PriceStore prices = new PriceStore();
        Cart cart = new Cart();
        CountDownLatch held = new CountDownLatch(1);
        synchronized (prices) {
            start("SyncWorker", () -> {
                synchronized (cart) {
                    held.countDown();
                    synchronized (prices) {
                        Work.compute(1);
                    }
                }
            });
            await(held);
            synchronized (cart) {
                Work.compute(1);
            }
        }
    }

    /** Writes to a file in this directory, and waits for the disk after each piece. */
    public static void diskIo(File directory, long millis) throws IOException {
        File file = new File(directory, "stall.bin");
        long end = System.nanoTime() + millis * 1_000_000;
        byte[] piece = new byte[64 << 10];
        try (RandomAccessFile out = new RandomAccessFile(file, "rw")) {
            do {
                out.seek(0);
                out.write(piece);
                out.getFD().sync();
            } while (System.nanoTime() < end);
        } finally {
            file.delete();
        }
    }

    /** Sends a request and blocks until the answer comes: like a binder call, with a pipe in its place. */
    public static int answerFromElsewhere(long millis) throws IOException {
        PipedInputStream question = new PipedInputStream();
        OutputStream ask = new PipedOutputStream(question);
        PipedInputStream answer = new PipedInputStream();
        OutputStream reply = new PipedOutputStream(answer);
        start("PriceServer", () -> serve(question, reply, millis));
        ask.write(42);
        ask.flush();
        return answer.read();
    }

    private static void serve(InputStream question, OutputStream reply, long millis) {
        try {
            int request = question.read();
            sleep(millis);
            reply.write(request);
            reply.close();
        } catch (IOException gone) {
            // The caller is gone.
        }
    }

    /** Allocates garbage, and keeps some of it so that the collector has work. */
    public static int garbage(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        byte[][] kept = new byte[512][];
        int made = 0;
        do {
            kept[made % kept.length] = new byte[16 << 10];
            made++;
        } while (System.nanoTime() < end);
        return made;
    }

    /** Posts many messages, each of which computes for a short time: none is slow, all together are. */
    public static void messageStorm(Executor main, int messages, long millisEach) {
        for (int number = 0; number < messages; number++) {
            main.execute(() -> Work.compute(millisEach));
        }
    }

    private static void start(String name, Runnable what) {
        Thread thread = new Thread(what, name);
        thread.setDaemon(true);
        thread.start();
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException woken) {
            Thread.currentThread().interrupt();
        }
    }
}
