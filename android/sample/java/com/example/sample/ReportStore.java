package com.example.sample;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

/** Stores the newest reports as files. Uses no Android class. */
public final class ReportStore {
    private static final int MAX_REPORTS = 100;

    private static final String END = ".json";

    private final File directory;

    private final AtomicInteger kept = new AtomicInteger();

    /** Stores them in this directory, which is created when the first is stored. */
    public ReportStore(File directory) {
        this.directory = directory;
    }

    /** Stores a report. */
    public void keep(String json) {
        directory.mkdirs();
        String name = String.format(Locale.ROOT, "%d-%09d%s", System.currentTimeMillis(), kept.getAndIncrement(), END);
        File file = new File(directory, name);
        try (FileOutputStream out = new FileOutputStream(file)) {
            out.write(json.getBytes("UTF-8"));
        } catch (IOException full) {
            file.delete();
        }
        File[] all = all();
        for (int at = MAX_REPORTS; at < all.length; at++) {
            all[at].delete();
        }
    }

    /** The reports' files, newest first. */
    public File[] all() {
        File[] files = directory.listFiles((in, name) -> name.endsWith(END));
        if (files == null) {
            return new File[0];
        }
        // Their names begin with the time in ms, which has the same number of digits until the year 2286.
        Arrays.sort(files, (one, other) -> other.getName().compareTo(one.getName()));
        return files;
    }

    /** The contents of a file. */
    public static String read(File file) throws IOException {
        try (RandomAccessFile in = new RandomAccessFile(file, "r")) {
            byte[] all = new byte[(int) in.length()];
            in.readFully(all);
            return new String(all, "UTF-8");
        }
    }
}
