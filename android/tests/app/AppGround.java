package dev.anrscope;

/** Foreground and scene. Real time, with a debounce that cannot be over while nobody looks, and then one that is at once. */
public final class AppGround {
    private AppGround() {}

    public static void main(String[] words) {
        AppScript script = new AppScript(false, () -> {});
        Anrscope.addObserver(new AppWatched());
        Anrscope.install(script.app, new Config.Builder().backgroundMs(60_000).build());
        AppScript.Home home = new AppScript.Home();
        AppScript.Detail detail = new AppScript.Detail();
        script.show(1, home);
        script.then(1, () -> AppScript.await("foreground", () -> AppWatched.CHANGES.get() == 1 && Anrscope.isForeground()));
        script.leave(1, home).then(1, () -> script.thread.hostRestart(home)).show(1, detail);
        script.then(1, () -> System.out.println("changes " + AppWatched.CHANGES));
        script.then(1, () -> script.thread.hostPause(home)).then(1, () -> script.thread.hostStop(home));
        script.then(1, () -> Anrscope.setScene("Checkout"));
        script.then(1, () -> Anrscope.setScene(null));
        script.then(1, () -> Anrscope.set("background_ms", "1"));
        script.leave(1, detail);
        script.then(1, () -> AppScript.await("background", () -> !Anrscope.isForeground()));
        script.then(1, () -> AppScript.await("told", () -> AppWatched.CHANGES.get() == 2));
        script.then(1, () -> System.out.println("changes " + AppWatched.CHANGES));
        script.run(20);
        System.out.println("focused " + AppWatched.focused);
        System.out.println("messages " + (AppWatched.begun > 10 && AppWatched.ended >= AppWatched.begun - 1)
                + " twice " + AppWatched.twice);
    }
}
