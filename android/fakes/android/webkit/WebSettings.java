package android.webkit;

/** What a page may do (core/java/android/webkit/WebSettings.java, all levels); the defaults are AOSP's. */
public class WebSettings {
    public boolean hostJavaScript;
    public boolean hostNetworkBlocked;
    /** The default below API 30. */
    public boolean hostFiles = true;

    public boolean hostContent = true;

    public void setJavaScriptEnabled(boolean on) {
        hostJavaScript = on;
    }

    public void setBlockNetworkLoads(boolean blocked) {
        hostNetworkBlocked = blocked;
    }

    public void setAllowFileAccess(boolean allowed) {
        hostFiles = allowed;
    }

    public void setAllowContentAccess(boolean allowed) {
        hostContent = allowed;
    }
}
