package android.content;

import android.net.Uri;

/** The addresses that an intent grants access to (core/java/android/content/ClipData.java, all levels). */
public class ClipData {
    private final Uri uri;

    private ClipData(Uri uri) {
        this.uri = uri;
    }

    public static ClipData newRawUri(CharSequence label, Uri uri) {
        return new ClipData(uri);
    }

    public Uri hostUri() {
        return uri;
    }
}
