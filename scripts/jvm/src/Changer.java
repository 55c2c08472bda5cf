import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.charset.StandardCharsets;
import java.security.ProtectionDomain;

/**
 * A Java agent that changes a text of the class Orders: while it is loaded, or afterwards by retransforming it ("later"), then back again ("back").
 */
public class Changer implements ClassFileTransformer {
    private static volatile boolean changes = true;

    public static void premain(String how, Instrumentation instrumentation) throws Exception {
        boolean later = how != null && !how.isEmpty();
        if (!later) {
            instrumentation.addTransformer(new Changer(), true);
            return;
        }
        Class<?> orders = Class.forName("Orders", false, ClassLoader.getSystemClassLoader());
        instrumentation.addTransformer(new Changer(), true);
        instrumentation.retransformClasses(orders);
        if (how.equals("back")) {
            changes = false;
            instrumentation.retransformClasses(orders);
        }
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (!"Orders".equals(name) || !changes) {
            return null;
        }
        byte[] changed = bytes.clone();
        byte[] word = "Marker".getBytes(StandardCharsets.US_ASCII);
        for (int at = 0; at + word.length <= changed.length; at++) {
            boolean found = true;
            for (int n = 0; n < word.length && found; n++) {
                found = changed[at + n] == word[n];
            }
            if (found) {
                changed[at] = 'P';
            }
        }
        return changed;
    }
}
