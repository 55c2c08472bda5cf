package dev.anrscope.gradle;

import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.gradle.api.GradleException;
import org.gradle.api.file.Directory;
import org.gradle.api.file.RegularFile;

/**
 * Merges directories and jars into one jar, in order; of entries with the same name the first wins, as on a class path.
 *
 * <p>A jar's entries keep their names, because the program judges them: it reports a name that leads out of a directory and copies its
 * entry. So jars are not opened as file systems, which refuse such a jar, and hide the entries {@code a/...} of a jar that also has a file
 * {@code a}.
 */
final class Merge {
    private Merge() {}

    static void into(File out, List<Directory> directories, List<RegularFile> jars) throws IOException {
        Set<String> names = new HashSet<>();
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(out.toPath()))) {
            zip.setLevel(Deflater.NO_COMPRESSION);
            for (Directory directory : directories) {
                addFiles(zip, names, directory.getAsFile().toPath());
            }
            for (RegularFile jar : jars) {
                addEntries(zip, names, jar.getAsFile());
            }
        }
    }

    private static void addFiles(ZipOutputStream zip, Set<String> names, Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root).filter(Files::isRegularFile).sorted()) {
            for (Path file : (Iterable<Path>) files::iterator) {
                String name = root.relativize(file).toString().replace(File.separatorChar, '/');
                if (names.add(name)) {
                    try (InputStream in = Files.newInputStream(file)) {
                        add(zip, name, in);
                    }
                }
            }
        }
    }

    private static void addEntries(ZipOutputStream zip, Set<String> names, File jar) throws IOException {
        Set<String> own = new TreeSet<>();
        try (ZipFile from = new ZipFile(jar)) {
            from.stream().filter(entry -> !entry.isDirectory()).forEach(entry -> own.add(entry.getName()));
            for (String name : own) {
                if (names.add(name)) {
                    // By its name: of several entries with one name the JVM takes the same.
                    try (InputStream in = from.getInputStream(from.getEntry(name))) {
                        add(zip, name, in);
                    }
                }
            }
        } catch (ZipException | EOFException damaged) {
            throw new GradleException("Cannot read " + jar + ": " + damaged.getMessage() + ". If it was downloaded, remove it from Gradle's"
                    + " cache and fetch it again with --refresh-dependencies", damaged);
        }
    }

    private static void add(ZipOutputStream zip, String name, InputStream in) throws IOException {
        ZipEntry entry = new ZipEntry(name);
        // The same classes give the same jar.
        entry.setTime(315_532_800_000L);
        zip.putNextEntry(entry);
        in.transferTo(zip);
        zip.closeEntry();
    }
}
