package android.content;

import android.database.Cursor;
import android.net.Uri;
import android.os.Bundle;
import android.os.ParcelFileDescriptor;
import java.io.FileNotFoundException;

public abstract class ContentProvider {
    private Context context;

    public final Context getContext() {
        return context;
    }

    /** The system creates a process's providers before its {@code Application.onCreate}. */
    public void hostAttach(Context context) {
        this.context = context;
        onCreate();
    }

    public abstract boolean onCreate();

    public abstract Cursor query(Uri uri, String[] columns, String where, String[] values, String order);

    public abstract String getType(Uri uri);

    public abstract Uri insert(Uri uri, ContentValues values);

    public abstract int delete(Uri uri, String where, String[] values);

    public abstract int update(Uri uri, ContentValues values, String where, String[] of);

    public ParcelFileDescriptor openFile(Uri uri, String mode) throws FileNotFoundException {
        throw new FileNotFoundException("No files supported by provider at " + uri);
    }

    public Bundle call(String method, String argument, Bundle extras) {
        return null;
    }
}
