package android.app.servertransaction;

/** An item that launches nothing. */
public class ConfigurationChangeItem extends ClientTransactionItem {
    private final Runnable run;

    public ConfigurationChangeItem(Runnable run) {
        this.run = run;
    }

    @Override
    public void hostExecute() {
        run.run();
    }
}
