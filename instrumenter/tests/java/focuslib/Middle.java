package focuslib;

import focus.Activities;
import focus.Log;

/** Not instrumented, but between two instrumented classes. */
public class Middle extends Activities.Base {
    @Override
    public void onWindowFocusChanged(boolean hasFocus) {
        Log.add("Middle");
        super.onWindowFocusChanged(hasFocus);
    }
}
