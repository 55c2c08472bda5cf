import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;

/**
 * An agent that changes nothing: it keeps the class files that the JVM has from the agents before it, of the classes that {@link LinkAll}
 * defines. {@code java -agentpath:... -javaagent:shown.jar=OUT.jar} writes them at the end, by the names of the archive's entries.
 *
 * <p>Its transformer can retransform, as anrscope's agent can; the JVM asks such agents in the order of their environments, and this one is
 * created later.
 */
public final class ShownClasses {
    private static final Map<String, byte[]> SHOWN = new ConcurrentSkipListMap<>();

    public static void premain(String out, Instrumentation instrumentation) {
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(
                    ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
                if (loader != null && loader.getClass() == LinkAll.Loader.class && redefined == null) {
                    keep(LinkAll.DEFINING.get(), bytes);
                }
                return null;
            }
        }, true);
        Runtime.getRuntime().addShutdownHook(new Thread(() -> write(Path.of(out))));
    }

    private static void keep(String entry, byte[] bytes) {
        byte[] before = entry == null ? null : SHOWN.putIfAbsent(entry, bytes);
        if (before != null && !Arrays.equals(before, bytes)) {
            // A class of several loaders.
            SHOWN.put(entry + "#again", bytes);
        }
    }

    private static void write(Path out) {
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(out))) {
            zip.setLevel(1);
            for (Map.Entry<String, byte[]> shown : SHOWN.entrySet()) {
                zip.putNextEntry(new ZipEntry(shown.getKey()));
                zip.write(shown.getValue());
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
