package android.os;

import java.io.Closeable;
import java.io.File;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;

public class ParcelFileDescriptor implements Closeable {
    public static final int MODE_READ_ONLY = 0x10000000;

    private final FileInputStream opened;
    private final FileDescriptor descriptor;

    private ParcelFileDescriptor(FileInputStream opened) throws IOException {
        this.opened = opened;
        descriptor = opened.getFD();
    }

    public static ParcelFileDescriptor open(File file, int mode) throws FileNotFoundException {
        if (mode != MODE_READ_ONLY) {
            throw new IllegalArgumentException("Bad mode: " + mode);
        }
        try {
            return new ParcelFileDescriptor(new FileInputStream(file));
        } catch (FileNotFoundException none) {
            throw none;
        } catch (IOException fault) {
            throw new FileNotFoundException(fault.getMessage());
        }
    }

    public FileDescriptor getFileDescriptor() {
        return descriptor;
    }

    /** What the other process reads: from the descriptor's position on. */
    public FileInputStream hostStream() {
        return opened;
    }

    @Override
    public void close() throws IOException {
        opened.close();
    }
}
