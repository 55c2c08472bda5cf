package focuslib;

/** Not instrumented, and nothing may override. */
public class Sealed extends android.app.Activity {
    @Override
    public final void onWindowFocusChanged(boolean hasFocus) {}
}
