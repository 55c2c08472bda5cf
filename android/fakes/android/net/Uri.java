package android.net;

import java.net.URI;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Wraps Java's class with Android's method names: segments and values are decoded. */
public final class Uri implements android.os.Parcelable {
    private final URI uri;

    private Uri(URI uri) {
        this.uri = uri;
    }

    public static Uri parse(String text) {
        return new Uri(URI.create(text));
    }

    public String getAuthority() {
        return uri.getAuthority();
    }

    public List<String> getPathSegments() {
        List<String> segments = new ArrayList<String>();
        String path = uri.getRawPath();
        for (String one : path == null ? new String[0] : path.split("/")) {
            if (!one.isEmpty()) {
                segments.add(decoded(one));
            }
        }
        return segments;
    }

    public String getLastPathSegment() {
        List<String> segments = getPathSegments();
        return segments.isEmpty() ? null : segments.get(segments.size() - 1);
    }

    public String getQueryParameter(String key) {
        String query = uri.getRawQuery();
        for (String one : query == null ? new String[0] : query.split("&")) {
            int equals = one.indexOf('=');
            if (equals > 0 && decoded(one.substring(0, equals)).equals(key)) {
                return decoded(one.substring(equals + 1));
            }
        }
        return null;
    }

    private static String decoded(String text) {
        return URLDecoder.decode(text.replace("+", "%2B"), StandardCharsets.UTF_8);
    }

    @Override
    public String toString() {
        return uri.toString();
    }
}
