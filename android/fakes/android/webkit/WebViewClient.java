package android.webkit;

/** Decides about navigation (core/java/android/webkit/WebViewClient.java, all levels). */
public class WebViewClient {
    public boolean shouldOverrideUrlLoading(WebView view, String url) {
        return false;
    }
}
