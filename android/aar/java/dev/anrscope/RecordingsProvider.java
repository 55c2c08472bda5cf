package dev.anrscope;

import android.content.ContentProvider;
import android.content.ContentValues;
import android.content.Context;
import android.database.Cursor;
import android.database.MatrixCursor;
import android.net.Uri;
import android.os.Bundle;
import android.os.ParcelFileDescriptor;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.List;

/**
 * Serves recordings to {@code anrscope device} and takes its commands, where {@code run-as} does not work. {@link
 * Access} decides whom it answers; the manifest keeps out all other apps before that. Called on Binder threads, so it
 * answers while main is blocked.
 *
 * <pre>
 * query   content://APP.anrscope/recordings          one row each: name, size, modified (s), live (0, 1)
 * query   content://APP.anrscope/recordings/NAME?copy=ID
 *                                                    one row: name (of the file to read), size, modified, cksum, state
 * read    content://APP.anrscope/recordings/NAME?from=N
 * delete  content://APP.anrscope/recordings/NAME     copies only
 * call    content://APP.anrscope  COMMAND            see {@link Control}
 * </pre>
 *
 * {@code state} is {@code still} for a finished recording; {@code copy} for a copy of one that is being written, named
 * by the client's id, which the client deletes at the end; or {@code live} if there is no space for a copy.
 */
public final class RecordingsProvider extends ContentProvider {
    private static final String[] LIST_COLUMNS = {"name", "size", "modified", "live"};

    private static final String[] FILE_COLUMNS = {"name", "size", "modified", "cksum", "state"};

    @Override
    public boolean onCreate() {
        return true;
    }

    @Override
    public Cursor query(Uri uri, String[] columns, String where, String[] values, String order) {
        File directory = directory();
        List<String> path = path(uri);
        if (path.size() == 1) {
            RecordingFiles.removeOldCopies(directory);
            MatrixCursor rows = new MatrixCursor(LIST_COLUMNS);
            for (File file : RecordingFiles.all(directory)) {
                rows.addRow(
                        new Object[] {
                            file.getName(), file.length(), file.lastModified() / 1000, RecordingFiles.isLive(file) ? 1 : 0
                        });
            }
            return rows;
        }
        try {
            MatrixCursor row = new MatrixCursor(FILE_COLUMNS);
            row.addRow(one(directory, RecordingFiles.named(directory, path.get(1)), uri.getQueryParameter("copy")));
            return row;
        } catch (IOException unreadable) {
            throw new IllegalArgumentException(unreadable.getMessage(), unreadable);
        }
    }

    private Object[] one(File directory, File recording, String id) throws IOException {
        File read = recording;
        String state = "still";
        if (RecordingFiles.isLive(recording)) {
            try {
                read = RecordingFiles.copy(recording, directory, id);
                state = "copy";
            } catch (IOException full) {
                state = "live";
            }
        }
        // Before the sum.
        StackBytes.check(getContext(), read);
        FileInputStream in = new FileInputStream(read);
        try {
            Cksum sum = Cksum.of(in);
            // The length that was summed: a live file may have grown since.
            return new Object[] {read.getName(), sum.length(), recording.lastModified() / 1000, sum.sum(), state};
        } finally {
            in.close();
        }
    }

    @Override
    public ParcelFileDescriptor openFile(Uri uri, String mode) throws FileNotFoundException {
        File directory = directory();
        List<String> path = path(uri);
        if (path.size() != 2 || !"r".equals(mode)) {
            throw new FileNotFoundException("to read a recording: content read --uri content://.../recordings/NAME");
        }
        try {
            File file = RecordingFiles.named(directory, path.get(1));
            StackBytes.check(getContext(), file);
            String position = uri.getQueryParameter("from");
            long from = position == null ? 0 : Long.parseLong(position);
            ParcelFileDescriptor opened = ParcelFileDescriptor.open(file, ParcelFileDescriptor.MODE_READ_ONLY);
            // The file position is shared with the other process. The stream does not own the descriptor and is not
            // closed.
            new FileInputStream(opened.getFileDescriptor()).getChannel().position(Math.max(0, from));
            return opened;
        } catch (FileNotFoundException none) {
            throw none;
        } catch (IOException unreadable) {
            throw new FileNotFoundException(unreadable.getMessage());
        } catch (NumberFormatException number) {
            throw new FileNotFoundException("from must be a number of bytes");
        }
    }

    @Override
    public int delete(Uri uri, String where, String[] values) {
        File directory = directory();
        List<String> path = path(uri);
        if (path.size() != 2 || !RecordingFiles.isCopy(path.get(1))) {
            throw new IllegalArgumentException("only copies can be deleted");
        }
        try {
            return RecordingFiles.named(directory, path.get(1)).delete() ? 1 : 0;
        } catch (IOException none) {
            return 0;
        }
    }

    @Override
    public Bundle call(String command, String argument, Bundle more) {
        Access.check(getContext());
        return Control.run(command).bundle();
    }

    @Override
    public String getType(Uri uri) {
        return null;
    }

    @Override
    public Uri insert(Uri uri, ContentValues values) {
        return null;
    }

    @Override
    public int update(Uri uri, ContentValues values, String where, String[] of) {
        return 0;
    }

    /** Checks the caller and returns the recordings' directory. */
    private File directory() {
        Context context = getContext();
        Access.check(context);
        return RecordingFiles.directory(context);
    }

    /** The path: {@code recordings}, and optionally a name. */
    private static List<String> path(Uri uri) {
        List<String> path = uri.getPathSegments();
        if (path.isEmpty() || path.size() > 2 || !path.get(0).equals("recordings")) {
            throw new IllegalArgumentException("unknown path: use recordings or recordings/NAME");
        }
        return path;
    }
}
