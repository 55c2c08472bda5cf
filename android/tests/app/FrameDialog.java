package dev.anrscope;

import android.app.Dialog;
import android.hardware.display.DisplayManager;
import android.view.View;
import android.view.Window;
import host.HostApp;

/** Frames that only a dialog's window draws, over a page that does not change. */
public final class FrameDialog {
    private FrameDialog() {}

    public static void main(String[] words) {
        HostApp.SERVICES.put(android.content.Context.DISPLAY_SERVICE, new DisplayManager());
        AppScript script = new AppScript(false, () -> {});
        AppScript.Home home = new AppScript.Home();
        script.show(10, home);
        Dialog dialog = new Dialog(script.app);
        script.then(200, dialog::show);
        // It takes the focus from the window below.
        script.focus(50, home, false);
        int[] left = {20};
        script.then(
                100,
                () -> {
                    Anrscope.mark("dialog");
                    View decor = dialog.getWindow().getDecorView();
                    decor.hostOnDraw =
                            () -> {
                                if (--left[0] > 0) {
                                    decor.invalidate();
                                }
                            };
                    decor.invalidate();
                });
        script.until("drawn", () -> left[0] == 0);
        script.run(100);
    }
}
