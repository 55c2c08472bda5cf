import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;

/**
 * A Java agent that changes loaded classes to those of an instrumented jar and restores them, which is what {@code anrscope attach} does to a program, with
 * nothing of anrscope in the process: what grows here is the JVM's. scripts/jvm/attach.py runs it beside an attachment.
 */
public final class Retransform implements ClassFileTransformer {
    /** Classes in one stop, as in trace-runtime/jvm-agent/src/loaded.rs. */
    private static final int BATCH = 64;

    private final Map<String, byte[]> instrumented = new HashMap<>();
    private final Instrumentation all;
    private volatile boolean on;

    private Retransform(Instrumentation all, String jar) throws Exception {
        this.all = all;
        try (JarFile file = new JarFile(jar)) {
            for (JarEntry entry : (Iterable<JarEntry>) file.stream()::iterator) {
                if (entry.getName().endsWith(".class")) {
                    instrumented.put(entry.getName().replace(".class", ""), file.getInputStream(entry).readAllBytes());
                }
            }
        }
    }

    /** Leaves its work where scripts/jvm/AttachLoad.java finds it. */
    public static void premain(String jar, Instrumentation all) throws Exception {
        Retransform agent = new Retransform(all, jar);
        all.addTransformer(agent, true);
        System.getProperties().put("round", (Runnable) agent::round);
    }

    @Override
    public byte[] transform(ClassLoader loader, String name, Class<?> loaded, ProtectionDomain domain, byte[] bytes) {
        return on && loaded != null ? instrumented.get(name) : null;
    }

    private void round() {
        try {
            on = true;
            retransform();
            Thread.sleep(300);
            on = false;
            retransform();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    private void retransform() throws Exception {
        List<Class<?>> classes = new ArrayList<>();
        for (Class<?> loaded : all.getAllLoadedClasses()) {
            if (instrumented.containsKey(loaded.getName().replace('.', '/')) && all.isModifiableClass(loaded)) {
                classes.add(loaded);
            }
        }
        for (int n = 0; n < classes.size(); n += BATCH) {
            all.retransformClasses(classes.subList(n, Math.min(classes.size(), n + BATCH)).toArray(new Class<?>[0]));
        }
    }
}
