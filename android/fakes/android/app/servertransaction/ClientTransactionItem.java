package android.app.servertransaction;

public abstract class ClientTransactionItem {
    public abstract void hostExecute();
}
