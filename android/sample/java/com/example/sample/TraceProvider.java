package com.example.sample;

import android.content.ContentProvider;
import android.content.ContentValues;
import android.content.Context;
import android.database.Cursor;
import android.database.MatrixCursor;
import android.net.Uri;
import android.os.ParcelFileDescriptor;
import android.provider.OpenableColumns;
import java.io.File;
import java.io.FileNotFoundException;

/**
 * Serves the shared traces to the apps that they were shared with. An app with androidx uses its FileProvider instead.
 */
public final class TraceProvider extends ContentProvider {
    /** The file for a trace with this name. */
    static File place(Context context, String name) {
        File directory = new File(context.getCacheDir(), "traces");
        directory.mkdirs();
        return new File(directory, name);
    }

    static Uri uri(Context context, File trace) {
        return Uri.parse("content://" + context.getPackageName() + ".traces/" + Uri.encode(trace.getName()));
    }

    private File file(Uri uri) throws FileNotFoundException {
        String name = uri.getLastPathSegment();
        if (name == null || name.indexOf('/') >= 0 || name.startsWith(".")) {
            throw new FileNotFoundException("there is no trace with this name");
        }
        return place(getContext(), name);
    }

    @Override
    public ParcelFileDescriptor openFile(Uri uri, String mode) throws FileNotFoundException {
        return ParcelFileDescriptor.open(file(uri), ParcelFileDescriptor.MODE_READ_ONLY);
    }

    @Override
    public Cursor query(Uri uri, String[] columns, String where, String[] values, String order) {
        try {
            File file = file(uri);
            MatrixCursor row = new MatrixCursor(new String[] {OpenableColumns.DISPLAY_NAME, OpenableColumns.SIZE});
            row.addRow(new Object[] {file.getName(), file.length()});
            return row;
        } catch (FileNotFoundException none) {
            return null;
        }
    }

    @Override
    public boolean onCreate() {
        return true;
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
