package dev.anrscope;

import android.os.Handler;
import android.os.Looper;
import android.util.Log;
import host.Clock;

/** A main looper in virtual time and the reports thread only: shows that the fakes and the harness work. */
public final class EmptyLife {
    private EmptyLife() {}

    public static void main(String[] words) {
        MethodBeat.i(1);
        Looper.prepareMainLooper();
        Clock.virtual(1000);
        Reports.start(null);
        final Handler handler = new Handler();
        handler.postDelayed(
                new Runnable() {
                    @Override
                    public void run() {
                        System.out.println("at " + android.os.SystemClock.uptimeMillis());
                        Looper.myLooper().quit();
                    }
                },
                250);
        Looper.loop();
        Reports.stop();
        MethodBeat.o(1);
        System.out.println("logged " + Log.hostLines().size() + " sdk " + android.os.Build.VERSION.SDK_INT);
    }
}
