package android.app.servertransaction;

public class LaunchActivityItem extends ClientTransactionItem {
    private final Runnable run;

    public LaunchActivityItem(Runnable run) {
        this.run = run;
    }

    @Override
    public void hostExecute() {
        run.run();
    }
}
