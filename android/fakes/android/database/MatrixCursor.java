package android.database;

import java.util.ArrayList;
import java.util.List;

public class MatrixCursor implements Cursor {
    private final String[] columns;
    private final List<Object[]> rows = new ArrayList<Object[]>();
    private int at = -1;

    public MatrixCursor(String[] columns) {
        this.columns = columns;
    }

    public void addRow(Object[] values) {
        if (values.length != columns.length) {
            throw new IllegalArgumentException("columnNames.length = " + columns.length + ", columnValues.length = " + values.length);
        }
        rows.add(values);
    }

    @Override
    public int getCount() {
        return rows.size();
    }

    @Override
    public boolean moveToNext() {
        return ++at < rows.size();
    }

    @Override
    public String[] getColumnNames() {
        return columns;
    }

    @Override
    public String getString(int column) {
        return String.valueOf(rows.get(at)[column]);
    }
}
