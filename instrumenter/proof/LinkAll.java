import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipInputStream;

/**
 * Defines and links (and so verifies) every class of an archive in its original and in its instrumented form, and
 * compares the results.
 *
 * <p>{@code java -Xverify:all LinkAll ORIGINAL INSTRUMENTED [LIBRARY.jar...]} prints how many classes there are, how
 * many link, how many fail in the same way in both forms, and how many differ; status 1 if any does. Libraries are
 * after the archive on the class path and are never instrumented. A class that misses another one must miss the same
 * one in both forms.
 *
 * <p>With {@code -Dagent=true} the JVM has anrscope's agent, and both archives are the original: the agent leaves the classes of the first
 * form alone, since their loader does not find the class that is called.
 *
 * <p>With {@code -Dmissing=interface} a class that is missing is an empty interface instead. Then the verifier, for which any object fits an
 * interface, gets to the end of each method; which of several missing classes it meets first depends on the order of its visits.
 */
public final class LinkAll {
    private static final String MAP_ID = "dev/anrscope/MapId.class";
    /**
     * Keeps every class alive. HotSpot verifies methods in the order of their names' addresses, so the first of several
     * missing classes that it reports is the same in both forms only while the names stay at their addresses.
     */
    private static final List<Loader> ALIVE = new ArrayList<>();

    /** The entry of the archive that the calling thread defines in its instrumented form; none for a library's class. */
    static final ThreadLocal<String> DEFINING = new ThreadLocal<>();

    public static void main(String[] args) throws IOException {
        List<ZipFile> libraries = new ArrayList<>();
        for (int i = 2; i < args.length; i++) {
            libraries.add(new ZipFile(args[i]));
        }
        Map<String, String> before = outcomes(args[0], libraries, !Boolean.getBoolean("agent"));
        Map<String, String> after = outcomes(args[1], libraries, true);
        for (String added : new ArrayList<>(after.keySet())) {
            if (added.endsWith(MAP_ID) && !before.containsKey(added)) {
                after.remove(added);
            }
        }
        int linked = 0;
        int same = 0;
        int differing = 0;
        TreeSet<String> all = new TreeSet<>(before.keySet());
        all.addAll(after.keySet());
        for (String entry : all) {
            String was = before.get(entry);
            String is = after.get(entry);
            if (was == null || !was.equals(is)) {
                differing++;
                System.err.println(entry + "\n  original:     " + was + "\n  instrumented: " + is);
            } else if (was.equals("linked")) {
                linked++;
            } else {
                same++;
            }
        }
        System.out.println(before.size() + " " + linked + " " + same + " " + differing);
        System.exit(differing == 0 ? 0 : 1);
    }

    /** The result for each class entry of an archive. Entries of an inner jar are prefixed with its name. */
    private static Map<String, String> outcomes(String archive, List<ZipFile> libraries, boolean traced)
            throws IOException {
        Map<String, String> outcomes = new TreeMap<>();
        for (Map.Entry<String, Map<String, byte[]>> jar : jars(archive).entrySet()) {
            Map<String, byte[]> classes = jar.getValue();
            // A multi-release jar is several jars: the plain one, and one for each version with the lower ones behind
            // it.
            TreeMap<Integer, Loader> releases = new TreeMap<>();
            for (String entry : classes.keySet()) {
                releases.computeIfAbsent(
                        release(entry),
                        n -> traced
                                ? new Loader(jar.getKey(), classes, n, libraries)
                                : new Untraced(jar.getKey(), classes, n, libraries));
                loadPlatforms(entry);
            }
            for (String entry : classes.keySet()) {
                outcomes.put(jar.getKey() + entry, releases.get(release(entry)).link(name(entry)));
            }
        }
        return outcomes;
    }

    /**
     * Loads the platform's class with that name if it has one. Whether the platform's or the archive's comes first
     * decides which of them breaks a loader constraint, and must be the same for both forms.
     */
    private static void loadPlatforms(String entry) {
        try {
            ClassLoader.getPlatformClassLoader().loadClass(name(entry));
        } catch (ClassNotFoundException | LinkageError none) {
            // The usual case.
        }
    }

    private static String name(String entry) {
        String file = RELEASE.matcher(entry).replaceFirst("");
        return file.substring(0, file.length() - ".class".length()).replace('/', '.');
    }

    private static final Pattern RELEASE = Pattern.compile("^META-INF/versions/([0-9]{1,4})/");

    private static int release(String entry) {
        Matcher matcher = RELEASE.matcher(entry);
        return matcher.find() ? Integer.parseInt(matcher.group(1)) : 0;
    }

    /** The class files of an archive: its own, and those of its inner jars if it is an aar. */
    private static Map<String, Map<String, byte[]>> jars(String path) throws IOException {
        Map<String, Map<String, byte[]>> jars = new LinkedHashMap<>();
        try (ZipFile zip = new ZipFile(path)) {
            Map<String, byte[]> own = new LinkedHashMap<>();
            jars.put("", own);
            for (ZipEntry entry : java.util.Collections.list(zip.entries())) {
                boolean inner = entry.getName().endsWith(".jar") && path.endsWith(".aar");
                if (!inner && !entry.getName().endsWith(".class")) {
                    continue;
                }
                byte[] bytes;
                try (InputStream in = zip.getInputStream(entry)) {
                    bytes = in.readAllBytes();
                }
                if (!inner) {
                    own.putIfAbsent(entry.getName(), bytes);
                    continue;
                }
                Map<String, byte[]> classes = new LinkedHashMap<>();
                jars.put(entry.getName() + "!", classes);
                ZipInputStream jar = new ZipInputStream(new ByteArrayInputStream(bytes));
                for (ZipEntry in = jar.getNextEntry(); in != null; in = jar.getNextEntry()) {
                    if (in.getName().endsWith(".class")) {
                        classes.putIfAbsent(in.getName(), jar.readAllBytes());
                    }
                }
            }
        }
        return jars;
    }

    static class Loader extends ClassLoader {
        private final String jar;
        private final Map<String, byte[]> classes;
        private final int release;
        private final List<ZipFile> libraries;

        Loader(String jar, Map<String, byte[]> classes, int release, List<ZipFile> libraries) {
            super(ClassLoader.getPlatformClassLoader());
            this.jar = jar;
            this.classes = classes;
            this.release = release;
            this.libraries = libraries;
            ALIVE.add(this);
        }

        /** The class itself, even if the platform has one with that name. */
        String link(String name) {
            Class<?> type;
            try {
                synchronized (getClassLoadingLock(name)) {
                    type = findLoadedClass(name);
                    if (type == null) {
                        type = findClass(name);
                    }
                }
            } catch (Throwable failed) {
                return normal(failed);
            }
            // Any of these links the class first, and then may miss a type of a member. Nothing is initialised.
            String outcome = "linked";
            for (int members = 0; members < 3; members++) {
                try {
                    switch (members) {
                        case 0 -> type.getDeclaredConstructors();
                        case 1 -> type.getDeclaredFields();
                        default -> type.getDeclaredMethods();
                    }
                    return "linked";
                } catch (Throwable failed) {
                    outcome = members == 0 ? normal(failed) : outcome;
                }
            }
            return outcome;
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            String file = name.replace('.', '/') + ".class";
            String entry = file;
            for (int n = release; n > 0; n--) {
                if (classes.containsKey("META-INF/versions/" + n + "/" + file)) {
                    entry = "META-INF/versions/" + n + "/" + file;
                    break;
                }
            }
            byte[] bytes = classes.get(entry);
            DEFINING.set(bytes == null ? null : jar + entry);
            for (int i = 0; bytes == null && i < libraries.size(); i++) {
                ZipEntry found = libraries.get(i).getEntry(file);
                if (found != null) {
                    try (InputStream in = libraries.get(i).getInputStream(found)) {
                        bytes = in.readAllBytes();
                    } catch (IOException e) {
                        throw new ClassNotFoundException(name, e);
                    }
                }
            }
            if (bytes == null && EMPTY && !name.startsWith("java.")) {
                bytes = emptyInterface(name.replace('.', '/'));
            }
            if (bytes == null) {
                throw new ClassNotFoundException(name);
            }
            try {
                // The JVM asks its agents first of all, before it loads super classes.
                return defineClass(name, bytes, 0, bytes.length);
            } finally {
                DEFINING.remove();
            }
        }

        private static final boolean EMPTY = "interface".equals(System.getProperty("missing"));

        private static byte[] emptyInterface(String name) {
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            try (DataOutputStream out = new DataOutputStream(bytes)) {
                out.writeInt(0xcafebabe);
                out.writeInt(49);
                out.writeShort(5);
                for (int n = 0; n < 2; n++) {
                    out.writeByte(1);
                    out.writeUTF(n == 0 ? name : "java/lang/Object");
                    out.writeByte(7);
                    out.writeShort(2 * n + 1);
                }
                // Public, abstract, an interface; itself, its super class; no interfaces, fields, methods or attributes.
                out.writeShort(0x0601);
                out.writeShort(2);
                out.writeShort(4);
                out.writeLong(0);
            } catch (IOException impossible) {
                throw new IllegalStateException(impossible);
            }
            return bytes.toByteArray();
        }
    }

    /** Does not find the class that instrumented code calls. */
    private static final class Untraced extends Loader {
        Untraced(String jar, Map<String, byte[]> classes, int release, List<ZipFile> libraries) {
            super(jar, classes, release, libraries);
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (name.startsWith("dev.anrscope.")) {
                throw new ClassNotFoundException(name);
            }
            return super.loadClass(name, resolve);
        }
    }

    private static final Pattern HASH = Pattern.compile("@(0x)?[0-9a-f]+");

    /**
     * An error's class and text, without what must differ: positions in code and the class loaders. Of a
     * VerifyError's description of the method, the location and the reason are kept.
     */
    private static String normal(Throwable error) {
        StringBuilder text = new StringBuilder(error.getClass().getName());
        String[] lines = String.valueOf(error.getMessage()).split("\n");
        for (int i = 0; i < lines.length; i++) {
            boolean kept = i == 0 || lines[i - 1].trim().equals("Location:") || lines[i - 1].trim().equals("Reason:");
            if (kept) {
                text.append(" | ").append(HASH.matcher(lines[i].trim()).replaceAll("@").replace("LinkAll$Untraced", "LinkAll$Loader"));
            }
        }
        return text.toString();
    }
}
