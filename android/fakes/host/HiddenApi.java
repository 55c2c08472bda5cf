package host;

import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;

/**
 * The system's list of hidden fields: {@code getDeclaredField} throws NoSuchFieldException for a field on it, as if it
 * did not exist (art/runtime/native/java_lang_Class.cc, Class_getDeclaredField, API 28). Uses this JVM's own filter of
 * fields, so a lookup costs the same as on Android: an exception. {@code -Xlog:exceptions} counts them ({@code
 * harness.rs}).
 *
 * <p>Only with the property {@code android.host.hiddenApi=enforced}: a JVM without {@code --add-opens
 * java.base/jdk.internal.reflect} has no such filter, and an app that the user exempted ({@code settings put global
 * hidden_api_policy 1}) may read them all.
 */
public final class HiddenApi {
    private HiddenApi() {}

    /** To be called once per class, in its static initializer. */
    public static void deny(Class<?> type, String... fields) {
        Set<String> names = new HashSet<String>(Arrays.asList(fields));
        if (names.isEmpty() || !"enforced".equals(System.getProperty("android.host.hiddenApi"))) {
            return;
        }
        try {
            Class.forName("jdk.internal.reflect.Reflection")
                    .getMethod("registerFieldsToFilter", Class.class, Set.class)
                    .invoke(null, type, names);
        } catch (ReflectiveOperationException notOpened) {
            throw new AssertionError(notOpened);
        }
    }
}
