package android.content;

public abstract class Context {
    public static final String DISPLAY_SERVICE = "display";
    public static final String WINDOW_SERVICE = "window";

    public abstract Object getSystemService(String name);

    public Context getApplicationContext() {
        return this;
    }
}
