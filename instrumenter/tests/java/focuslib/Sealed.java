package focuslib;

/** Not instrumented, and its method is final. */
public class Sealed extends android.app.Activity {
    @Override
    public final void onWindowFocusChanged(boolean hasFocus) {}
}
