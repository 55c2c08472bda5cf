package android.os;

import java.util.HashMap;
import java.util.Map;
import java.util.Set;

public final class Bundle {
    private final Map<String, Object> values = new HashMap<String, Object>();

    public boolean containsKey(String key) {
        return values.containsKey(key);
    }

    public Object get(String key) {
        return values.get(key);
    }

    public Set<String> keySet() {
        return values.keySet();
    }

    public boolean isEmpty() {
        return values.isEmpty();
    }

    public int size() {
        return values.size();
    }

    public void remove(String key) {
        values.remove(key);
    }

    public String getString(String key) {
        Object value = values.get(key);
        return value instanceof String ? (String) value : null;
    }

    public String getString(String key, String without) {
        String value = getString(key);
        return value == null ? without : value;
    }

    public int getInt(String key, int without) {
        Object value = values.get(key);
        return value instanceof Integer ? ((Integer) value).intValue() : without;
    }

    public boolean getBoolean(String key, boolean without) {
        Object value = values.get(key);
        return value instanceof Boolean ? ((Boolean) value).booleanValue() : without;
    }

    public void putString(String key, String value) {
        values.put(key, value);
    }

    public void putInt(String key, int value) {
        values.put(key, Integer.valueOf(value));
    }

    public void putBoolean(String key, boolean value) {
        values.put(key, Boolean.valueOf(value));
    }

    public void putParcelable(String key, Parcelable value) {
        values.put(key, value);
    }

    /** AOSP core/java/android/os/Bundle.java, all levels: with the bundle's lock, unless it is still a parcel. */
    @Override
    public synchronized String toString() {
        return "Bundle[" + values + "]";
    }

    public void putFloat(String key, float value) {
        values.put(key, Float.valueOf(value));
    }
}
