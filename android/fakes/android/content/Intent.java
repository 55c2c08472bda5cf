package android.content;

import android.net.Uri;
import android.os.Parcelable;
import java.util.HashMap;
import java.util.Map;

/** An action or component with its extras (core/java/android/content/Intent.java, all levels). */
public class Intent implements Parcelable {
    public static final String ACTION_SEND = "android.intent.action.SEND";
    public static final String ACTION_CHOOSER = "android.intent.action.CHOOSER";
    public static final String EXTRA_STREAM = "android.intent.extra.STREAM";
    public static final String EXTRA_INTENT = "android.intent.extra.INTENT";
    public static final int FLAG_GRANT_READ_URI_PERMISSION = 1;
    public static final int FLAG_ACTIVITY_NEW_TASK = 0x10000000;

    private final String action;
    private final Class<?> component;
    private final Map<String, Object> extras = new HashMap<String, Object>();
    private Uri data;
    private String type;
    private ClipData clip;
    private int flags;
    private ComponentName name;

    public Intent(String action) {
        this.action = action;
        component = null;
    }

    public Intent(Context context, Class<?> component) {
        action = null;
        this.component = component;
    }

    /** As AOSP's, the chooser has the grants of the intent. */
    public static Intent createChooser(Intent target, CharSequence title) {
        Intent chooser = new Intent(ACTION_CHOOSER).putExtra(EXTRA_INTENT, target);
        chooser.clip = target.clip;
        return chooser.addFlags(target.flags & FLAG_GRANT_READ_URI_PERMISSION);
    }

    public String getAction() {
        return action;
    }

    public Class<?> hostComponent() {
        return component;
    }

    public Intent setData(Uri data) {
        this.data = data;
        return this;
    }

    public Uri getData() {
        return data;
    }

    public Intent setType(String type) {
        this.type = type;
        return this;
    }

    public String getType() {
        return type;
    }

    public void setClipData(ClipData clip) {
        this.clip = clip;
    }

    public ClipData getClipData() {
        return clip;
    }

    public Intent addFlags(int flags) {
        this.flags |= flags;
        return this;
    }

    public Intent setComponent(ComponentName name) {
        this.name = name;
        return this;
    }

    public ComponentName getComponent() {
        return name;
    }

    public int getFlags() {
        return flags;
    }

    public Intent putExtra(String name, long value) {
        extras.put(name, Long.valueOf(value));
        return this;
    }

    public Intent putExtra(String name, String value) {
        extras.put(name, value);
        return this;
    }

    public Intent putExtra(String name, Parcelable value) {
        extras.put(name, value);
        return this;
    }

    public long getLongExtra(String name, long without) {
        Object value = extras.get(name);
        return value instanceof Long ? ((Long) value).longValue() : without;
    }

    public String getStringExtra(String name) {
        return (String) extras.get(name);
    }

    @SuppressWarnings("unchecked")
    public <T extends Parcelable> T getParcelableExtra(String name) {
        return (T) extras.get(name);
    }

    /**
     * As AOSP's toShortString(b, secure, comp, extras, clip) does for toString: the parts in this order, each only if it
     * is set (core/java/android/content/Intent.java, read in copies of several levels). Left out: categories, package,
     * bounds, selector, and what later levels add between (id= from 29). Data is printed by Uri.toSafeString.
     */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("Intent {");
        part(text, "act=", action);
        part(text, "dat=", data);
        part(text, "typ=", type);
        part(text, "flg=0x", flags == 0 ? null : Integer.toHexString(flags));
        part(text, "cmp=", name == null ? null : name.flattenToShortString());
        part(text, "clip={", clip == null ? null : "text/plain}");
        part(text, "(has extras)", extras.isEmpty() ? null : "");
        return text.append(" }").toString();
    }

    private static void part(StringBuilder text, String key, Object value) {
        if (value != null) {
            text.append(' ').append(key).append(value);
        }
    }
}
