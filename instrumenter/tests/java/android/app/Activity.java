package android.app;

/** Stands in for the platform's. */
public class Activity {
    public void onWindowFocusChanged(boolean hasFocus) {
        focus.Log.add("Activity " + hasFocus);
    }
}
