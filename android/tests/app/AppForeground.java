package dev.anrscope;

/** Foreground state and scene. Real time: first with a debounce too long to end, then with none. */
public final class AppForeground {
    private AppForeground() {}

    public static void main(String[] words) {
        AppScript script = new AppScript(false, () -> {});
        Anrscope.addObserver(new CountingObserver());
        Anrscope.install(script.app, new Config.Builder().backgroundMs(60_000).build());
        AppScript.Home home = new AppScript.Home();
        AppScript.Detail detail = new AppScript.Detail();
        script.show(1, home);
        script.then(1, () -> AppScript.await("foreground", () -> CountingObserver.CHANGES.get() == 1 && Anrscope.isForeground()));
        script.leave(1, home).then(1, () -> script.thread.hostRestart(home)).show(1, detail);
        script.then(1, () -> System.out.println("changes " + CountingObserver.CHANGES));
        script.then(1, () -> script.thread.hostPause(home)).then(1, () -> script.thread.hostStop(home));
        script.then(1, () -> Anrscope.setScene("Checkout"));
        script.then(1, () -> Anrscope.setScene(null));
        script.then(1, () -> Anrscope.set("background_ms", "1"));
        script.leave(1, detail);
        script.then(1, () -> AppScript.await("background", () -> !Anrscope.isForeground()));
        script.then(1, () -> AppScript.await("the listeners", () -> CountingObserver.CHANGES.get() == 2));
        script.then(1, () -> System.out.println("changes " + CountingObserver.CHANGES));
        script.run(20);
        System.out.println("focused " + CountingObserver.focused);
        System.out.println("messages " + (CountingObserver.begun > 10 && CountingObserver.ended >= CountingObserver.begun - 1)
                + " twice " + CountingObserver.twice);
    }
}
