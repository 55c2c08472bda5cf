import com.android.tools.r8.CompilationFailedException;
import com.android.tools.r8.CompilationMode;
import com.android.tools.r8.D8;
import com.android.tools.r8.D8Command;
import com.android.tools.r8.Diagnostic;
import com.android.tools.r8.DiagnosticsHandler;
import com.android.tools.r8.OutputMode;
import com.android.tools.r8.origin.Origin;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;

/**
 * Converts every class of an archive with D8. A class that D8 rejects is reported and removed, and the rest is tried
 * again.
 *
 * <p>{@code java -cp d8.jar:. DexAll IN OUT-DIRECTORY ANDROID.jar CLASS-PATH...} prints the number of classes, and a
 * line {@code rejected CLASS reason} for each rejected one; classes*.dex are in the directory. The property {@code min.api} is the API
 * level.
 */
public final class DexAll {
    private static final int MIN_API = Integer.getInteger("min.api", 26);

    public static void main(String[] args) throws IOException {
        Map<String, byte[]> classes = new TreeMap<>();
        read(new ZipInputStream(Files.newInputStream(Paths.get(args[0]))), classes);
        Path out = Paths.get(args[1]);
        Files.createDirectories(out);
        Map<String, String> rejected = new TreeMap<>();
        int all = classes.size();
        while (true) {
            Map<String, String> failed = new ConcurrentHashMap<>();
            Set<String> unplaced = ConcurrentHashMap.newKeySet();
            DiagnosticsHandler handler = new DiagnosticsHandler() {
                @Override
                public void error(Diagnostic error) {
                    Origin origin = error.getOrigin();
                    if (origin instanceof Entry) {
                        failed.put(((Entry) origin).name, firstLine(error.getDiagnosticMessage()));
                    } else {
                        unplaced.add(firstLine(error.getDiagnosticMessage()));
                    }
                }

                @Override
                public void warning(Diagnostic warning) {}

                @Override
                public void info(Diagnostic info) {}
            };
            D8Command.Builder command = D8Command.builder(handler)
                    .setMode(CompilationMode.RELEASE)
                    .setMinApiLevel(MIN_API)
                    .setOutput(out, OutputMode.DexIndexed)
                    .addLibraryFiles(Paths.get(args[2]));
            for (int i = 3; i < args.length; i++) {
                command.addClasspathFiles(Paths.get(args[i]));
            }
            classes.forEach((name, bytes) -> command.addClassProgramData(bytes, new Entry(name)));
            try {
                D8.run(command.build());
                break;
            } catch (CompilationFailedException e) {
                if (failed.isEmpty()) {
                    System.err.println(unplaced.isEmpty() ? e : unplaced);
                    System.exit(1);
                }
            }
            System.err.println(failed.size() + " rejected");
            classes.keySet().removeAll(failed.keySet());
            rejected.putAll(failed);
        }
        System.out.println("classes " + all);
        rejected.forEach((name, reason) -> System.out.println("rejected " + name + " " + reason));
    }

    /** The plain classes only: D8 accepts neither other releases nor modules, and each name once. */
    private static void read(ZipInputStream zip, Map<String, byte[]> into) throws IOException {
        for (ZipEntry entry = zip.getNextEntry(); entry != null; entry = zip.getNextEntry()) {
            String name = entry.getName();
            if (name.endsWith(".jar")) {
                read(new ZipInputStream(new ByteArrayInputStream(zip.readAllBytes())), into);
            } else if (name.endsWith(".class") && !name.startsWith("META-INF/") && !name.endsWith("module-info.class")) {
                into.putIfAbsent(name, zip.readAllBytes());
            }
        }
    }

    private static String firstLine(String text) {
        return text.split("\n", 2)[0].trim();
    }

    private static final class Entry extends Origin {
        final String name;

        Entry(String name) {
            super(Origin.root());
            this.name = name;
        }

        @Override
        public String part() {
            return name;
        }
    }
}
