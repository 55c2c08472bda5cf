package dev.anrscope;

import android.app.Dialog;
import android.hardware.display.DisplayManager;
import android.view.View;
import android.widget.PopupWindow;
import host.HostApp;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Frames that only a dialog's window draws, or a popup's ({@code popup}), over a page that does not change. From API 26 on
 * a dialog's frames are counted. Prints the number of listeners of the dialog's metrics.
 */
public final class FrameDialog {
    private FrameDialog() {}

    /** The root view of the window that was shown last. */
    private static View top() {
        try {
            View[] roots = RootViews.views();
            return roots[roots.length - 1];
        } catch (ReflectiveOperationException fault) {
            throw new AssertionError(fault);
        }
    }

    public static void main(String[] words) {
        HostApp.SERVICES.put(android.content.Context.DISPLAY_SERVICE, new DisplayManager());
        AtomicInteger counted = new AtomicInteger();
        Anrscope.addObserver(
                new Observer() {
                    @Override
                    public void onFrame(String scene, long begin, long total, long input, long animation, long traversal, long latency) {
                        counted.incrementAndGet();
                    }
                });
        AppScript script = new AppScript(false, () -> {});
        AppScript.Home home = new AppScript.Home();
        script.show(10, home);
        boolean popup = words.length > 0 && words[0].equals("popup");
        Dialog dialog = new Dialog(script.app);
        PopupWindow menu = new PopupWindow(new View(script.app));
        script.then(200, popup ? () -> menu.showAtLocation(home.getWindow().getDecorView(), 0, 0, 0) : dialog::show);
        // It takes the focus from the window below.
        script.focus(50, home, false);
        int[] left = {20};
        script.then(
                100,
                () -> {
                    Anrscope.mark("dialog");
                    View decor = popup ? top() : dialog.getWindow().getDecorView();
                    decor.hostOnDraw =
                            () -> {
                                if (--left[0] > 0) {
                                    decor.invalidate();
                                }
                            };
                    decor.invalidate();
                });
        script.until("drawn", () -> left[0] == 0);
        if (!popup && android.os.Build.VERSION.SDK_INT >= 26) {
            // The page below is drawn a few times only.
            script.until("counted", () -> counted.get() >= 20);
        }
        script.then(1, () -> System.out.println("listeners " + (popup ? 0 : dialog.getWindow().hostObservers())));
        script.run(100);
    }
}
