package android.app.servertransaction;

import android.os.Build;
import java.util.ArrayList;
import java.util.List;

/** API 28. What is in it is under another name from API 35 on. */
public class ClientTransaction {
    private List<ClientTransactionItem> mTransactionItems;
    private List<ClientTransactionItem> mActivityCallbacks;

    public ClientTransaction add(ClientTransactionItem item) {
        if (mTransactionItems == null && mActivityCallbacks == null) {
            List<ClientTransactionItem> items = new ArrayList<ClientTransactionItem>();
            if (Build.VERSION.SDK_INT >= 35) {
                mTransactionItems = items;
            } else {
                mActivityCallbacks = items;
            }
        }
        hostItems().add(item);
        return this;
    }

    public List<ClientTransactionItem> hostItems() {
        return mTransactionItems == null ? mActivityCallbacks : mTransactionItems;
    }
}
