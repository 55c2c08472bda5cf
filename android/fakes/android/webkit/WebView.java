package android.webkit;

import android.content.Context;
import android.os.Looper;
import android.view.View;

/**
 * Keeps the page that it was given (core/java/android/webkit/WebView.java, all levels). It must be used on one thread with a
 * Looper; without a WebView on the device its constructor throws (WebViewFactory.java).
 */
public class WebView extends View {
    /** The device has no WebView. */
    public static volatile boolean hostMissing;

    private final WebSettings settings = new WebSettings();
    private final Looper looper = Looper.myLooper();
    private WebViewClient client = new WebViewClient();
    private String page;

    public WebView(Context context) {
        super(context);
        if (hostMissing) {
            throw new RuntimeException("android.webkit.WebViewFactory$MissingWebViewPackageException: No WebView installed");
        }
        check();
    }

    private void check() {
        if (looper == null || looper != Looper.myLooper()) {
            throw new RuntimeException("A WebView method was called on thread '" + Thread.currentThread().getName() + "'.");
        }
    }

    public WebSettings getSettings() {
        check();
        return settings;
    }

    public void setWebViewClient(WebViewClient client) {
        check();
        this.client = client;
    }

    public void loadDataWithBaseURL(String base, String data, String type, String encoding, String history) {
        check();
        page = data;
    }

    public String hostPage() {
        return page;
    }

    public boolean hostLeaves(String url) {
        return !client.shouldOverrideUrlLoading(this, url);
    }
}
