package dev.anrscope.debug;

import android.content.Context;
import dev.anrscope.export.Stall;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * The last stalls as files in the app's cache: the answer, its page, and the trace of each, named by when it started. Not
 * on main.
 */
final class StallStore {
    private static final int MAX_KEPT = 10;

    private static final String ANSWER = ".txt";
    private static final String PAGE = ".html";
    private static final String TRACE = ".pftrace";
    private static final String PREFIX = "stall-";
    private static final String NEW = ".new";

    private final File directory;

    private StallStore(File directory) {
        this.directory = directory;
    }

    static StallStore of(Context context) {
        return new StallStore(new File(context.getCacheDir(), "anrscope-debug"));
    }

    /** The directory, which exists from now on. */
    File directory() throws IOException {
        if (!directory.isDirectory() && !directory.mkdirs() && !directory.isDirectory()) {
            throw new IOException("cannot create " + directory);
        }
        return directory;
    }

    /** A copy of a recording as it is now. */
    File copy(File recording) throws IOException {
        File copy = new File(directory(), NEW + ".anrscope");
        InputStream in = new FileInputStream(recording);
        try {
            OutputStream out = new FileOutputStream(copy);
            try {
                copy(in, out);
            } finally {
                out.close();
            }
        } finally {
            in.close();
        }
        return copy;
    }

    /** Where the page and the trace of a new stall are written before {@link #keep}. */
    File newPage() throws IOException {
        return new File(directory(), NEW + PAGE);
    }

    File newTrace() throws IOException {
        return new File(directory(), NEW + TRACE);
    }

    /** Keeps the new page and trace with this answer, and removes the oldest stalls. */
    synchronized void keep(Stall stall) throws IOException {
        String name = PREFIX + stall.sinceMs();
        rename(newPage(), name + PAGE);
        rename(newTrace(), name + TRACE);
        File answer = new File(directory(), NEW + ANSWER);
        FileOutputStream out = new FileOutputStream(answer);
        try {
            out.write(stall.toLines().getBytes("UTF-8"));
        } finally {
            out.close();
        }
        // Last: a stall without an answer is not listed.
        rename(answer, name + ANSWER);
        List<String> names = names();
        for (String old : names.subList(Math.min(MAX_KEPT, names.size()), names.size())) {
            for (String suffix : new String[] {ANSWER, PAGE, TRACE}) {
                new File(directory, old + suffix).delete();
            }
        }
    }

    private void rename(File from, String name) throws IOException {
        if (!from.renameTo(new File(directory, name))) {
            throw new IOException("cannot rename " + from + " to " + name);
        }
    }

    /** All stalls, newest first. */
    List<Stall> all() {
        List<Stall> all = new ArrayList<Stall>();
        for (String name : names()) {
            try {
                all.add(Stall.parse(text(new File(directory, name + ANSWER))));
            } catch (IOException gone) {
                // The system may clear the cache at any time.
            } catch (IllegalArgumentException other) {
                // A file of another version.
            }
        }
        return all;
    }

    /** The names of the stalls without a suffix, newest first. */
    private List<String> names() {
        String[] files = directory.list();
        List<String> names = new ArrayList<String>();
        for (String file : files == null ? new String[0] : files) {
            if (file.startsWith(PREFIX) && file.endsWith(ANSWER)) {
                names.add(file.substring(0, file.length() - ANSWER.length()));
            }
        }
        // Times with the same number of digits: in the order of time.
        Collections.sort(names, Collections.<String>reverseOrder());
        return names;
    }

    /** The page of a stall. */
    String page(Stall stall) throws IOException {
        return text(new File(directory, PREFIX + stall.sinceMs() + PAGE));
    }

    File trace(Stall stall) {
        return new File(directory, PREFIX + stall.sinceMs() + TRACE);
    }

    /** The trace with this file name; null without one. */
    File trace(String name) {
        String[] files = directory.list();
        boolean known = name != null && files != null && Arrays.asList(files).contains(name);
        return known && name.startsWith(PREFIX) && name.endsWith(TRACE) ? new File(directory, name) : null;
    }

    private static String text(File file) throws IOException {
        InputStream in = new FileInputStream(file);
        try {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            copy(in, out);
            return out.toString("UTF-8");
        } finally {
            in.close();
        }
    }

    static void copy(InputStream in, OutputStream out) throws IOException {
        byte[] some = new byte[64 << 10];
        for (int read; (read = in.read(some)) > 0; ) {
            out.write(some, 0, read);
        }
    }
}
