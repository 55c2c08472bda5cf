package dev.anrscope;

import android.view.View;
import android.view.ViewGroup;

/**
 * What Matrix 0.4 reported of pages and starts, in virtual time; words: options as KEY=VALUE, a splash page with
 * "splash".
 */
public final class AppMatrix04 {
    private AppMatrix04() {}

    private static ViewGroup group(View... children) {
        ViewGroup group = new ViewGroup(null) {};
        for (View child : children) {
            group.addView(child);
        }
        return group;
    }

    private static ViewGroup row() {
        return group(new View(null));
    }

    /** Five levels; nine views below the root that are not GONE. */
    private static void fill(AppScript.Page page) {
        ViewGroup gone = group(row(), row());
        gone.setVisibility(View.GONE);
        View hidden = new View(null);
        hidden.setVisibility(View.INVISIBLE);
        ViewGroup list = group(row(), row(), row());
        ((ViewGroup) page.getWindow().getDecorView()).addView(group(hidden, gone, list));
    }

    public static void main(String[] words) {
        AppScript script = new AppScript(true, () -> android.os.SystemClock.sleep(300));
        Config.Builder config = new Config.Builder();
        boolean splash = false;
        for (String word : words) {
            int equals = word.indexOf('=');
            if (equals < 0) {
                splash = true;
                config.splashActivities("dev.anrscope.AppScript$Splash");
            } else {
                config.set(word.substring(0, equals), word.substring(equals + 1));
            }
        }
        Anrscope.install(script.app, config.build());
        AppScript.Splash first = new AppScript.Splash();
        if (splash) {
            script.show(400, first).focus(500, first, false);
        }
        AppScript.Home home = new AppScript.Home(3_200);
        script.then(100, () -> script.thread.hostLaunch(home, true));
        script.then(1, () -> fill(home)).focus(100, home, true);
        // Neither a repeated focus nor a quick page is reported.
        script.focus(200, home, false).focus(5_000, home, true);
        script.show(100, new AppScript.Detail());
        script.run(100);
    }
}
