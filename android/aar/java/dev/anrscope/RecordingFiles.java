package dev.anrscope;

import android.content.Context;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;

/** The app's recordings as files: which there are, and copies of those that a process still writes to. Not on main. */
final class RecordingFiles {
    private static final String END = ".anrscope";

    /** Copies begin so, here and where the program makes them by itself through run-as. */
    private static final String COPY = ".pull-";

    /** Nobody reads a copy for longer, ms. */
    private static final long COPY_LIVES = 3_600_000;

    private static final int LONGEST_NAME = 128;

    private RecordingFiles() {}

    /** Where they are; it may be missing. */
    static File folder(Context context) {
        return new File(Folders.of(context), "anrscope");
    }

    /** All of them, as the folder gives them. */
    static File[] all(File folder) {
        File[] found = folder.listFiles();
        if (found == null) {
            return new File[0];
        }
        int count = 0;
        for (File file : found) {
            if (isPlain(file.getName()) && isHere(folder, file.getName())) {
                found[count++] = file;
            }
        }
        File[] all = new File[count];
        System.arraycopy(found, 0, all, 0, count);
        return all;
    }

    /**
     * The recording of this name, or the copy of one.
     *
     * @throws FileNotFoundException if there is none, or the name leads elsewhere
     */
    static File named(File folder, String name) throws FileNotFoundException {
        if (name != null && (isPlain(name) || isCopy(name)) && isHere(folder, name)) {
            return new File(folder, name);
        }
        throw new FileNotFoundException("there is no recording of this name: " + name);
    }

    /** Whether it is a file, and no link that leads out of the folder. */
    private static boolean isHere(File folder, String name) {
        File file = new File(folder, name);
        try {
            return file.isFile() && file.getCanonicalFile().equals(new File(folder.getCanonicalFile(), name));
        } catch (IOException unreadable) {
            return false;
        }
    }

    /** Letters, digits and {@code ._-}, and it does not begin with a dot. */
    private static boolean isPlain(String name) {
        return name.endsWith(END) && name.charAt(0) != '.' && name.charAt(0) != '-' && ofPlainLetters(name);
    }

    static boolean isCopy(String name) {
        return name.startsWith(COPY) && ofPlainLetters(name);
    }

    private static boolean ofPlainLetters(String name) {
        if (name.length() > LONGEST_NAME) {
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

    /** Whether its process lives, by the pid in its name; an app sees its own processes alone. */
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
     * A copy as the recording is now, beside it: its process goes on writing to the recording itself. Whatever of it is being
     * written meanwhile is read as after a kill at that moment.
     *
     * @param id what the copy is known by: who asks twice gets one copy; null for one that nobody else has
     * @throws IOException if there is no room, and then nothing of it is left; or if that is no id
     */
    static synchronized File copy(File recording, File folder, String id) throws IOException {
        String name = COPY + (id == null ? Long.toHexString(System.nanoTime()) : id);
        if (!isCopy(name)) {
            throw new IOException("a copy is known by letters, digits and ._-");
        }
        File copy = new File(folder, name);
        if (id != null && copy.isFile()) {
            return copy;
        }
        // Whole or not there: whoever asks again because no answer came reads what the first one reads.
        File part = new File(folder, name + ".part");
        copyTo(recording, part);
        if (!part.renameTo(copy)) {
            part.delete();
            throw new IOException("the copy cannot be named " + copy);
        }
        return copy;
    }

    /** As {@link #copy}, to a file of any name. */
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

    /** Removes copies that nobody has removed. */
    static void removeOldCopies(File folder) {
        File[] found = folder.listFiles();
        long oldest = System.currentTimeMillis() - COPY_LIVES;
        for (File file : found == null ? new File[0] : found) {
            if (isCopy(file.getName()) && file.lastModified() < oldest) {
                file.delete();
            }
        }
    }
}
