package android.database;

public interface Cursor {
    int getCount();

    boolean moveToNext();

    String[] getColumnNames();

    String getString(int column);
}
