package dev.anrscope;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileLock;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Offers finished recordings to the app's {@link Uploader}: at the start, after an ANR, and again if an upload failed.
 * The file {@code uploads} in the recordings' directory stores which have arrived and when the others are due, so that
 * each is handed over once even if the process ends. A recording whose upload was interrupted by the process's end is
 * offered again.
 */
final class Uploads implements Runnable {
    /**
     * Delay after the first failed attempt, ms; it doubles each time. Not final, so that tests need not wait for
     * minutes.
     */
    static volatile long firstPause = 60_000;

    private static final long MAX_PAUSE_MS = 6 * 3_600_000L;

    /** The state of a recording that has arrived. */
    private static final long ARRIVED = -1;

    /** More are not counted. */
    private static final int MAX_ATTEMPTS = 1_000_000;

    private static final String STATE_FILE = "uploads";

    /** More than any app keeps. A longer file was not written by this class. */
    private static final int MAX_STATE_BYTES = 4 << 20;

    private static Uploader uploader;
    private static File directory;
    private static Thread running;
    /** There may be something to offer. */
    private static boolean again;

    private Uploads() {}

    /** Upload state of a recording. */
    private static final class Tried {
        final int attempts;
        /** When the next attempt is due, ms since 1970; or {@link #ARRIVED}. */
        final long due;

        Tried(int attempts, long due) {
            this.attempts = attempts;
            this.due = due;
        }
    }

    /** A finished recording. */
    private static final class Finished {
        final String name;
        final int pid;
        final long startMs;
        final boolean anr;
        final String reason;
        final String process;

        Finished(String[] fields) {
            name = fields[0];
            pid = Integer.parseInt(fields[1]);
            startMs = Long.parseLong(fields[2]);
            anr = fields[3].equals("1");
            reason = fields[4];
            process = fields[5];
        }
    }

    static synchronized void set(Uploader to) {
        uploader = to;
        check();
    }

    /** The directory is known, and the recordings contain how their processes ended. */
    static synchronized void begin(File recordings) {
        directory = recordings;
        check();
    }

    /** There may be something to offer. */
    static synchronized void check() {
        if (uploader == null || directory == null) {
            return;
        }
        again = true;
        if (running == null) {
            Thread thread = new Thread(new Uploads(), "anrscope-upload");
            thread.setDaemon(true);
            try {
                thread.start();
                running = thread;
            } catch (OutOfMemoryError noThread) {
                // The caller is the app's thread. The next check tries again.
            }
        } else {
            Uploads.class.notifyAll();
        }
    }

    @Override
    public void run() {
        long pause = 0;
        while (next(pause)) {
            try {
                pause = round();
            } catch (Throwable fault) {
                // Storage is full, or the directory is gone: the next start tries again.
                pause = 0;
            }
        }
    }

    /**
     * Waits for the next round, {@code pause} ms at most. 0 means nothing is due: the thread ends unless it was woken
     * meanwhile.
     */
    private static synchronized boolean next(long pause) {
        long end = System.nanoTime() + pause * 1_000_000;
        while (!again && pause > 0) {
            long left = (end - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                again = true;
                break;
            }
            try {
                Uploads.class.wait(left);
            } catch (InterruptedException theirs) {
                pause = 0;
            }
        }
        if (!again || uploader == null) {
            running = null;
            return false;
        }
        again = false;
        return true;
    }

    private static synchronized Uploader uploader() {
        return uploader;
    }

    /** Offers what is due. Returns how long until more is due, ms; 0 if nothing will be. */
    private static long round() throws IOException {
        // Another process of the app may be uploading.
        RandomAccessFile lock = new RandomAccessFile(own(".lock"), "rw");
        try {
            FileLock held = lock.getChannel().tryLock();
            if (held == null) {
                return firstPause;
            }
            return locked();
        } finally {
            // Closing the file releases the lock.
            lock.close();
        }
    }

    /**
     * The state file, or the one beside it with this suffix. What is no file is removed: a pipe would block this thread
     * for ever, a directory or a link that leads nowhere would have the same recording uploaded at every start.
     */
    private static File own(String suffix) {
        File file = new File(directory, STATE_FILE + suffix);
        if (!file.isFile()) {
            file.delete();
        }
        return file;
    }

    private static long locked() throws IOException {
        Map<String, Tried> before = read();
        Map<String, Tried> tried = new HashMap<String, Tried>();
        // The list wipes what is left.
        StackBytes.unwindAll(directory);
        List<Finished> offered = finished();
        for (Finished one : offered) {
            Tried known = before.get(one.name);
            if (known != null) {
                tried.put(one.name, known);
            }
        }
        long first = Long.MAX_VALUE;
        for (Finished one : offered) {
            Tried known = tried.get(one.name);
            long now = System.currentTimeMillis();
            // A time too far in the future comes from a clock that was set back.
            boolean waits = known != null && known.due > now && known.due <= now + MAX_PAUSE_MS;
            if (known != null && known.due == ARRIVED) {
                continue;
            }
            if (!waits) {
                Uploader to = uploader();
                if (to == null) {
                    break;
                }
                known = offer(to, one, known == null ? 1 : known.attempts + 1);
                tried.put(one.name, known);
                // Saved after each one: the process may end at any time.
                write(tried);
            }
            if (known.due != ARRIVED) {
                first = Math.min(first, known.due);
            }
        }
        if (!tried.keySet().equals(before.keySet())) {
            write(tried);
        }
        // The clock may have been set back since.
        return first == Long.MAX_VALUE ? 0 : Math.max(1, Math.min(MAX_PAUSE_MS, first - System.currentTimeMillis()));
    }

    private static Tried offer(Uploader to, Finished one, int attempt) {
        boolean arrived = false;
        try {
            RecordingInfo info = new RecordingInfo(one.pid, one.process, one.startMs, one.anr, one.reason, attempt);
            arrived = to.upload(new File(directory, one.name), info);
        } catch (Throwable theirs) {
            // It did not arrive.
        }
        // An uploader that was interrupted may say so again, and the wait for the next attempt would end at once.
        Thread.interrupted();
        if (arrived) {
            return new Tried(attempt, ARRIVED);
        }
        long pause = firstPause << Math.min(attempt - 1, 20);
        return new Tried(attempt, System.currentTimeMillis() + Math.min(pause, MAX_PAUSE_MS));
    }

    /** Recordings with an ANR first, then by age. */
    private static List<Finished> finished() {
        List<Finished> all = new ArrayList<Finished>();
        for (String line : Natives.finished(directory.getPath()).split("\n")) {
            String[] fields = line.split("\t", -1);
            if (fields.length == 6) {
                all.add(new Finished(fields));
            }
        }
        Collections.sort(
                all,
                new Comparator<Finished>() {
                    @Override
                    public int compare(Finished one, Finished other) {
                        if (one.anr != other.anr) {
                            return one.anr ? -1 : 1;
                        }
                        return Long.compare(one.startMs, other.startMs);
                    }
                });
        return all;
    }

    /** Lines of name, attempts, due. An unreadable line counts as not tried. */
    private static Map<String, Tried> read() {
        Map<String, Tried> tried = new HashMap<String, Tried>();
        File file = own("");
        byte[] all = new byte[(int) Math.min(file.length(), MAX_STATE_BYTES)];
        try {
            FileInputStream in = new FileInputStream(file);
            try {
                int length = 0;
                for (int read; length < all.length && (read = in.read(all, length, all.length - length)) > 0; ) {
                    length += read;
                }
                for (String line : new String(all, 0, length, "UTF-8").split("\n")) {
                    String[] fields = line.split("\t", -1);
                    if (fields.length == 3) {
                        int attempts = Math.max(0, Integer.parseInt(fields[1]));
                        tried.put(fields[0], new Tried(Math.min(attempts, MAX_ATTEMPTS), Long.parseLong(fields[2])));
                    }
                }
            } finally {
                in.close();
            }
        } catch (IOException none) {
            // The file does not exist yet.
        } catch (NumberFormatException damaged) {
            // Keep what was read before.
        }
        return tried;
    }

    /** Written to a second file first, so that the state is always complete, old or new. */
    private static void write(Map<String, Tried> tried) throws IOException {
        StringBuilder lines = new StringBuilder();
        for (Map.Entry<String, Tried> one : tried.entrySet()) {
            lines.append(one.getKey()).append('\t').append(one.getValue().attempts).append('\t');
            lines.append(one.getValue().due).append('\n');
        }
        File part = new File(directory, STATE_FILE + ".part");
        // Of a killed process, or a link: what it leads to is not written to.
        part.delete();
        FileOutputStream out = new FileOutputStream(part);
        try {
            out.write(lines.toString().getBytes("UTF-8"));
            out.getFD().sync();
        } finally {
            out.close();
        }
        if (!part.renameTo(new File(directory, STATE_FILE))) {
            throw new IOException("cannot rename " + part);
        }
    }
}
