package android.app;

/** A fake of the platform's class. */
public class Activity {
    public void onWindowFocusChanged(boolean hasFocus) {
        focus.Log.add("Activity " + hasFocus);
    }
}
