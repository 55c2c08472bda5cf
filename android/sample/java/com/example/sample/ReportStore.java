package com.example.sample;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.util.Arrays;
import java.util.Locale;
import java.util.concurrent.atomic.AtomicInteger;

/** Reports as files, the newest few. There is no Android in here. */
public final class ReportStore {
    private static final int MOST = 100;

    private static final String END = ".json";

    private final File folder;

    private final AtomicInteger kept = new AtomicInteger();

    /** Keeps them in this folder, which is made when there is one to keep. */
    public ReportStore(File folder) {
        this.folder = folder;
    }

    /** Keeps a report. */
    public void keep(String json) {
        folder.mkdirs();
        String name = String.format(Locale.ROOT, "%d-%09d%s", System.currentTimeMillis(), kept.getAndIncrement(), END);
        File file = new File(folder, name);
        try (FileOutputStream out = new FileOutputStream(file)) {
            out.write(json.getBytes("UTF-8"));
        } catch (IOException full) {
            file.delete();
        }
        File[] all = all();
        for (int at = MOST; at < all.length; at++) {
            all[at].delete();
        }
    }

    /** The reports' files, the newest first. */
    public File[] all() {
        File[] files = folder.listFiles((in, name) -> name.endsWith(END));
        if (files == null) {
            return new File[0];
        }
        // Their names begin with the time, which has as many digits until the year 2286.
        Arrays.sort(files, (one, other) -> other.getName().compareTo(one.getName()));
        return files;
    }

    /** What a file holds. */
    public static String read(File file) throws IOException {
        try (RandomAccessFile in = new RandomAccessFile(file, "r")) {
            byte[] all = new byte[(int) in.length()];
            in.readFully(all);
            return new String(all, "UTF-8");
        }
    }
}
