package dev.anrscope.debug;

import android.content.ContentProvider;
import android.content.ContentValues;
import android.content.Context;
import android.database.Cursor;
import android.database.MatrixCursor;
import android.net.Uri;
import android.os.ParcelFileDescriptor;
import java.io.File;
import java.io.FileNotFoundException;

/**
 * Starts the library without a line of code, and serves the traces that the user shares. It is not exported: another app
 * reads a trace only with the grant that comes with the share.
 */
public final class StallsProvider extends ContentProvider {
    private static final String[] COLUMNS = {"_display_name", "_size"};

    /** The address of a trace, for {@code ACTION_SEND}. */
    static Uri uri(Context context, File trace) {
        return Uri.parse("content://" + context.getPackageName() + ".anrscope-debug/" + trace.getName());
    }

    @Override
    public boolean onCreate() {
        Stalls.start(getContext());
        return true;
    }

    @Override
    public ParcelFileDescriptor openFile(Uri uri, String mode) throws FileNotFoundException {
        if (!"r".equals(mode)) {
            throw new FileNotFoundException("traces are read-only");
        }
        return ParcelFileDescriptor.open(trace(uri), ParcelFileDescriptor.MODE_READ_ONLY);
    }

    /** A row with {@code OpenableColumns}' name and size. */
    @Override
    public Cursor query(Uri uri, String[] columns, String where, String[] values, String order) {
        try {
            File trace = trace(uri);
            MatrixCursor row = new MatrixCursor(COLUMNS);
            row.addRow(new Object[] {trace.getName(), trace.length()});
            return row;
        } catch (FileNotFoundException none) {
            return null;
        }
    }

    private File trace(Uri uri) throws FileNotFoundException {
        Context context = getContext();
        String name = uri.getLastPathSegment();
        File trace = Stalls.isDebuggable(context) ? StallStore.of(context).trace(name) : null;
        if (trace == null) {
            throw new FileNotFoundException("there is no trace with this name");
        }
        return trace;
    }

    @Override
    public String getType(Uri uri) {
        return "application/octet-stream";
    }

    @Override
    public Uri insert(Uri uri, ContentValues values) {
        return null;
    }

    @Override
    public int delete(Uri uri, String where, String[] values) {
        return 0;
    }

    @Override
    public int update(Uri uri, ContentValues values, String where, String[] of) {
        return 0;
    }
}
