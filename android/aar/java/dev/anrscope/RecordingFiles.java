package dev.anrscope;

import android.content.Context;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** The app's recordings as files: lists them, and copies those that a process is still writing. Not on main. */
final class RecordingFiles {
    private static final String SUFFIX = ".anrscope";

    /** Prefix of copies, here and in copies that the anrscope tool creates through run-as. */
    private static final String COPY_PREFIX = ".pull-";

    /** Copies older than this are no longer in use, ms. */
    private static final long MAX_COPY_AGE_MS = 3_600_000;

    private static final int MAX_NAME_LENGTH = 128;

    private RecordingFiles() {}

    /** The directory of the recordings; it may not exist. */
    static File directory(Context context) {
        return new File(Directories.of(context), "anrscope");
    }

    /** All recordings, in the order of the directory. */
    static File[] all(File directory) {
        File[] found = directory.listFiles();
        if (found == null) {
            return new File[0];
        }
        int count = 0;
        for (File file : found) {
            if (isPlain(file.getName()) && isHere(directory, file.getName())) {
                found[count++] = file;
            }
        }
        File[] all = new File[count];
        System.arraycopy(found, 0, all, 0, count);
        return all;
    }

    /**
     * The recording, or copy, with this name.
     *
     * @throws FileNotFoundException if it does not exist, or the name leads outside the directory
     */
    static File named(File directory, String name) throws FileNotFoundException {
        if (name != null && (isPlain(name) || isCopy(name)) && isHere(directory, name)) {
            return new File(directory, name);
        }
        throw new FileNotFoundException("there is no recording with this name: " + name);
    }

    /** Whether it is a regular file in this directory, not a link out of it. */
    private static boolean isHere(File directory, String name) {
        File file = new File(directory, name);
        try {
            return file.isFile() && file.getCanonicalFile().equals(new File(directory.getCanonicalFile(), name));
        } catch (IOException unreadable) {
            return false;
        }
    }

    /** Only letters, digits and {@code ._-}, and no leading dot. */
    private static boolean isPlain(String name) {
        return name.endsWith(SUFFIX) && name.charAt(0) != '.' && name.charAt(0) != '-' && ofPlainLetters(name);
    }

    static boolean isCopy(String name) {
        return name.startsWith(COPY_PREFIX) && ofPlainLetters(name);
    }

    private static boolean ofPlainLetters(String name) {
        if (name.length() > MAX_NAME_LENGTH) {
            return false;
        }
        for (int at = 0; at < name.length(); at++) {
            char c = name.charAt(at);
            boolean plain = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9';
            if (!plain && c != '.' && c != '_' && c != '-') {
                return false;
            }
        }
        return true;
    }

    /** Whether its process is running, by the pid in its name; an app sees only its own processes. */
    static boolean isLive(File recording) {
        String name = recording.getName();
        int from = name.lastIndexOf('-') + 1;
        int to = name.indexOf('.', from);
        if (from == 0 || to <= from) {
            return false;
        }
        for (int at = from; at < to; at++) {
            if (name.charAt(at) < '0' || name.charAt(at) > '9') {
                return false;
            }
        }
        return new File("/proc/" + name.substring(from, to)).isDirectory();
    }

    /**
     * A copy of the recording as it is now, in the same directory; its process keeps writing to the original. Data that
     * is being written meanwhile reads as after a kill at that moment.
     *
     * @param id name of the copy: a second request with the same id returns the same copy; null for a new copy
     * @throws IOException if there is no space (nothing of the copy is left), or the id is invalid
     */
    static synchronized File copy(File recording, File directory, String id) throws IOException {
        String name = COPY_PREFIX + (id == null ? Long.toHexString(System.nanoTime()) : id);
        if (!isCopy(name)) {
            throw new IOException("the id of a copy consists of letters, digits and ._-");
        }
        File copy = new File(directory, name);
        if (id != null && copy.isFile()) {
            return copy;
        }
        // Created completely or not at all: a client that repeats its request reads the same copy.
        File part = new File(directory, name + ".part");
        copyTo(recording, part);
        if (!part.renameTo(copy)) {
            part.delete();
            throw new IOException("cannot rename the copy to " + copy);
        }
        return copy;
    }

    /** As {@link #copy}, to a file with any name. */
    static void copyTo(File recording, File to) throws IOException {
        boolean whole = false;
        try {
            InputStream in = new FileInputStream(recording);
            try {
                OutputStream out = new FileOutputStream(to);
                try {
                    byte[] some = new byte[64 << 10];
                    for (int read; (read = in.read(some)) > 0; ) {
                        out.write(some, 0, read);
                    }
                } finally {
                    out.close();
                }
                whole = true;
            } finally {
                in.close();
            }
        } finally {
            if (!whole) {
                to.delete();
            }
        }
    }

    /** Removes copies that their client has left behind. */
    static void removeOldCopies(File directory) {
        File[] found = directory.listFiles();
        long oldest = System.currentTimeMillis() - MAX_COPY_AGE_MS;
        for (File file : found == null ? new File[0] : found) {
            if (isCopy(file.getName()) && file.lastModified() < oldest) {
                file.delete();
            }
        }
    }
}
