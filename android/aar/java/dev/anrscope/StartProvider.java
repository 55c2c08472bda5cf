package dev.anrscope;

import android.content.ContentProvider;
import android.content.ContentValues;
import android.database.Cursor;
import android.net.Uri;

/**
 * Starts anrscope without a line of code: the system creates an app's providers before its {@code
 * Application.onCreate}. It holds no data. If your app calls {@link Anrscope#install} itself, you may remove it from
 * the manifest ({@code tools:node="remove"}). It runs in the app's main process; for another process, declare a
 * subclass with {@code android:process}.
 */
public class StartProvider extends ContentProvider {
    @Override
    public boolean onCreate() {
        Anrscope.install(getContext());
        return true;
    }

    @Override
    public Cursor query(Uri uri, String[] columns, String where, String[] values, String order) {
        return null;
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
    public int delete(Uri uri, String where, String[] values) {
        return 0;
    }

    @Override
    public int update(Uri uri, ContentValues values, String where, String[] of) {
        return 0;
    }
}
