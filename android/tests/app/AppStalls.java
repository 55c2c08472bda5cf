package dev.anrscope;

import android.app.Activity;
import android.app.Notification;
import android.app.NotificationManager;
import android.content.Context;
import android.content.Intent;
import android.database.Cursor;
import android.hardware.display.DisplayManager;
import android.net.Uri;
import android.os.Debug;
import android.os.Handler;
import android.os.ParcelFileDescriptor;
import android.util.Log;
import android.view.View;
import android.view.ViewGroup;
import android.webkit.WebView;
import android.widget.TextView;
import com.example.stall.Checkout;
import dev.anrscope.debug.StallsActivity;
import dev.anrscope.debug.StallsProvider;
import host.HostApp;
import java.io.File;
import java.io.FileNotFoundException;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/**
 * A debug build whose main stalls, in real time: the notification, the page that a tap opens, and the trace that it shares.
 * {@code words}: the script, and the directory for what the app shows and shares.
 */
public final class AppStalls {
    private static final NotificationManager MANAGER = new NotificationManager();
    private static final StallsProvider PROVIDER = new StallsProvider();

    private static AppScript script;
    private static AppScript.Home home;
    private static File directory;
    /** The page in front. */
    private static Activity page;

    private AppStalls() {}

    /** Main is in one message for this long. */
    private static void stall(long ms, boolean sleeps) {
        script.then(100, () -> new Handler().post(new Checkout(ms, sleeps)));
    }

    private static void untilPosted(int count) {
        script.until("notification " + count, () -> MANAGER.hostPosted().size() >= count);
    }

    private static void print(String what) {
        script.then(
                1,
                () -> {
                    System.out.println(what + " posted " + MANAGER.hostPosted().size() + " shown " + MANAGER.hostShown().size());
                    for (Notification shown : MANAGER.hostShown()) {
                        System.out.println(what + " notification " + shown.hostTitle + ": " + shown.hostText + "|" + shown.hostSubText);
                        if (!shown.hostBigText.equals(shown.hostText)
                                || !shown.tickerText.equals(shown.hostTitle + ": " + shown.hostText)
                                || !shown.hostOnlyAlertOnce
                                || shown.hostGroup == null) {
                            throw new AssertionError("another text in the same notification");
                        }
                    }
                });
    }

    /** The system launches what the app, or a tap on its notification, asked for. */
    private static void launch() {
        script.then(
                1,
                () -> {
                    Intent intent = HostApp.STARTED.remove();
                    if (intent.hostComponent() != StallsActivity.class) {
                        throw new AssertionError(String.valueOf(intent.hostComponent()));
                    }
                    open(intent);
                });
    }

    private static void open(Intent intent) {
        page = new StallsActivity();
        page.hostIntent(intent);
        script.thread.hostLaunch(page, true);
    }

    private static List<View> views() {
        List<View> all = new ArrayList<>();
        if (page != null && page.getWindow() != null) {
            collect(page.getWindow().getDecorView(), all);
        }
        return all;
    }

    private static void collect(View view, List<View> all) {
        all.add(view);
        if (view instanceof ViewGroup) {
            for (int at = 0; at < ((ViewGroup) view).getChildCount(); at++) {
                collect(((ViewGroup) view).getChildAt(at), all);
            }
        }
    }

    private static TextView text(String begin) {
        for (View view : views()) {
            if (view instanceof TextView && ((TextView) view).getText().toString().startsWith(begin)) {
                return (TextView) view;
            }
        }
        return null;
    }

    private static WebView web() {
        for (View view : views()) {
            if (view instanceof WebView) {
                return (WebView) view;
            }
        }
        return null;
    }

    private static void write(String name, byte[] bytes) {
        try {
            Files.write(new File(directory, name).toPath(), bytes);
        } catch (java.io.IOException fault) {
            throw new AssertionError(fault);
        }
    }

    /** A tap on the notification, on the page's button, and the other app reads what it was given. */
    private static void tapAndShare() {
        script.then(1, () -> MANAGER.hostShown().get(0).contentIntent.send());
        launch();
        script.until("the page", () -> web() != null);
        script.then(
                1,
                () -> {
                    System.out.println("title " + page.hostTitle());
                    android.webkit.WebSettings settings = web().getSettings();
                    System.out.println("web " + settings.hostNetworkBlocked + settings.hostFiles + settings.hostContent
                            + web().hostLeaves("https://example.com/"));
                    write("page.html", web().hostPage().getBytes(java.nio.charset.StandardCharsets.UTF_8));
                    text("Share the trace").performClick();
                    share(HostApp.STARTED.remove());
                });
    }

    private static void share(Intent chooser) {
        Intent send = chooser.getParcelableExtra(Intent.EXTRA_INTENT);
        Uri uri = send.getParcelableExtra(Intent.EXTRA_STREAM);
        boolean granted = (chooser.getFlags() & Intent.FLAG_GRANT_READ_URI_PERMISSION) != 0
                && chooser.getClipData().hostUri().toString().equals(uri.toString());
        System.out.println("shares " + send.getAction() + " granted " + granted);
        try {
            ParcelFileDescriptor opened = PROVIDER.openFile(uri, "r");
            byte[] trace = opened.hostStream().readAllBytes();
            opened.close();
            Cursor row = PROVIDER.query(uri, null, null, null, null);
            row.moveToNext();
            System.out.println("row " + row.getString(0).endsWith(".pftrace") + " " + row.getString(1).equals(String.valueOf(trace.length)));
            write("shared.pftrace", trace);
            String base = uri.toString().substring(0, uri.toString().lastIndexOf('/') + 1);
            for (String name : new String[] {"", "..%2F..%2Fsecret.pftrace", "stall-1.pftrace", row.getString(0).replace(".pftrace", ".txt")}) {
                System.out.println("name " + name.replaceAll("[0-9]+", "N") + " " + refused(Uri.parse(base + name), "r"));
            }
            System.out.println("write " + refused(uri, "rw"));
            HostApp.debuggable = false;
            System.out.println("release " + refused(uri, "r"));
            HostApp.debuggable = true;
        } catch (java.io.IOException fault) {
            throw new AssertionError(fault);
        }
    }

    private static boolean refused(Uri uri, String mode) {
        try {
            PROVIDER.openFile(uri, mode).close();
            return false;
        } catch (FileNotFoundException refused) {
            return true;
        } catch (java.io.IOException fault) {
            throw new AssertionError(fault);
        }
    }

    /** Each kind of stall that is not shown, and several in a row. */
    private static void limits() {
        stall(1_200, true);
        untilPosted(1);
        print("first");
        // Slow for the recorder, and no stall.
        stall(800, true);
        script.then(900, () -> {});
        script.then(1_500, () -> {});
        print("short");
        script.then(1, () -> Debug.hostDebugger = true);
        stall(1_200, true);
        script.then(3_000, () -> Debug.hostDebugger = false);
        print("debugger");
        stall(1_200, true);
        stall(1_300, true);
        stall(1_400, true);
        script.then(1, () -> {});
        untilPosted(2);
        script.then(4_500, () -> {});
        print("several");
        script.leave(10, home);
        script.until("the background", () -> !Anrscope.isForeground());
        stall(1_200, true);
        script.then(4_500, () -> {});
        print("background");
    }

    private static void refusedNotifications() {
        MANAGER.hostAllowed = false;
        stall(1_600, true);
        script.until("the log line", () -> Log.hostLines().toString().contains("Main was blocked"));
        print("refused");
        script.then(1, () -> open(new Intent("android.intent.action.MAIN")));
        script.until("the list", () -> listed() != null);
        script.then(
                1,
                () -> {
                    System.out.println("off " + (text("Notifications are off") != null));
                    if (text("Notification settings") != null) {
                        text("Notification settings").performClick();
                        System.out.println("settings " + HostApp.STARTED.remove().getAction());
                    }
                    listed().performClick();
                    WebView.hostMissing = true;
                });
        launch();
        script.until("the answer", () -> text("Main was blocked") != null);
        script.then(1, () -> System.out.println("as text " + text("Main was blocked").getText().toString().replace('\n', '|')));
    }

    private static TextView listed() {
        for (View view : views()) {
            if (view instanceof TextView && ((TextView) view).getText().toString().contains("\nMain was blocked")) {
                return (TextView) view;
            }
        }
        return null;
    }

    private static void release() {
        stall(1_200, true);
        script.then(3_000, () -> open(new Intent("android.intent.action.MAIN")));
        script.until("the page", () -> text("anrscope-debug does nothing") != null);
        print("release");
    }

    public static void main(String[] words) throws Exception {
        System.setProperty("android.host.data", System.clearProperty("anrscope.dir"));
        System.setProperty("java.vm.name", "Dalvik");
        HostApp.SERVICES.put(Context.NOTIFICATION_SERVICE, MANAGER);
        HostApp.SERVICES.put(Context.DISPLAY_SERVICE, new DisplayManager());
        directory = new File(words[1]);
        HostApp.debuggable = !words[0].equals("release");
        script = new AppScript(false, () -> {});
        script.then(1, () -> PROVIDER.hostAttach(script.app));
        script.until("the file", () -> Control.run("flush").done);
        home = new AppScript.Home();
        script.show(10, home);
        script.then(300, () -> {});
        switch (words[0]) {
            case "lock":
                HostApp.ASSETS.put("anrscope/methodMapping.txt", Files.readAllBytes(new File(directory, "map.txt").toPath()));
                stall(1_300, false);
                untilPosted(1);
                print("lock");
                tapAndShare();
                stall(1_200, true);
                script.then(3_500, () -> {});
                print("own page");
                break;
            case "anr":
                stall(6_000, true);
                untilPosted(1);
                // The first is from while main was blocked.
                script.then(1, () -> System.out.println("during " + MANAGER.hostPosted().get(0).hostTitle));
                untilPosted(2);
                print("anr");
                break;
            case "limits":
                limits();
                break;
            case "refused":
                refusedNotifications();
                break;
            case "off":
                HostApp.META.putInt("anrscope-debug.notify", 0);
                stall(1_200, true);
                script.then(3_000, () -> {});
                print("off");
                break;
            default:
                release();
        }
        script.run(50);
        System.out.println("on main " + MANAGER.hostCallsOnMain);
        for (String line : Log.hostLines()) {
            System.out.println("log " + line);
        }
    }
}
