package dump;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.ProtectionDomain;

/** An agent that changes nothing: it writes the class files that it is shown, below the directory of its argument. */
public class Agent {
    public static void premain(String directory, Instrumentation instrumentation) {
        instrumentation.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(
                    ClassLoader loader, String name, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
                if (name != null && (name.startsWith("plain/") || name.startsWith("plug/"))) {
                    try {
                        Path file = Path.of(directory, name + ".class");
                        Files.createDirectories(file.getParent());
                        // A class of several loaders is written once, as the first of them gets it.
                        if (!Files.exists(file)) {
                            Files.write(file, bytes);
                        }
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                }
                return null;
            }
        }, true);
    }
}
