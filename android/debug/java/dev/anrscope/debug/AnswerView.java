package dev.anrscope.debug;

import android.content.Context;
import android.util.Log;
import android.webkit.WebSettings;
import android.webkit.WebView;
import android.webkit.WebViewClient;

/** Shows the report's page. The page has all that it needs in it: no network, no files, no bridge to Java. */
final class AnswerView {
    private AnswerView() {}

    /** Returns null if the device has no WebView. On main. */
    static WebView of(Context context, String page) {
        try {
            WebView view = new WebView(context);
            WebSettings settings = view.getSettings();
            // The page draws its chart by a script of its own.
            settings.setJavaScriptEnabled(true);
            settings.setBlockNetworkLoads(true);
            settings.setAllowFileAccess(false);
            settings.setAllowContentAccess(false);
            view.setWebViewClient(new NoNavigation());
            view.loadDataWithBaseURL(null, page, "text/html", "UTF-8", null);
            return view;
        } catch (RuntimeException missing) {
            Log.i(Stalls.TAG, "no WebView: the answer is shown as text");
            return null;
        }
    }

    /** Nothing leads away from the page. */
    private static final class NoNavigation extends WebViewClient {
        @Override
        public boolean shouldOverrideUrlLoading(WebView view, String url) {
            return true;
        }
    }
}
