package android.app.servertransaction;

import android.os.Build;
import java.util.ArrayList;
import java.util.List;

/**
 * API 28. Its list is {@code mActivityCallbacks} ({@code @UnsupportedAppUsage}) up to 34. From 35 on that field exists
 * and stays null: the items are in {@code mTransactionItems}, which is on the list of hidden fields, so that no app
 * finds it (core/java/android/app/servertransaction/ClientTransaction.java, API 35: addTransactionItem, flag
 * bundleClientTransactionFlag). Here it has another name, so {@code getDeclaredField} fails as on a device.
 */
public class ClientTransaction {
    private List<ClientTransactionItem> mActivityCallbacks;
    private List<ClientTransactionItem> hidden;

    public ClientTransaction add(ClientTransactionItem item) {
        if (hostItems() == null) {
            List<ClientTransactionItem> items = new ArrayList<ClientTransactionItem>();
            if (Build.VERSION.SDK_INT >= 35) {
                hidden = items;
            } else {
                mActivityCallbacks = items;
            }
        }
        hostItems().add(item);
        return this;
    }

    public List<ClientTransactionItem> hostItems() {
        return hidden == null ? mActivityCallbacks : hidden;
    }
}
