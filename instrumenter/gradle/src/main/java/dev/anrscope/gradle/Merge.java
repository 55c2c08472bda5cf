package dev.anrscope.gradle;

import java.io.File;
import java.io.IOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import java.util.zip.Deflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.gradle.api.file.Directory;
import org.gradle.api.file.RegularFile;

/**
 * Merges directories and jars into one jar, in order; of entries with the same name the first wins, as on a class path.
 */
final class Merge {
    private Merge() {}

    static void into(File out, List<Directory> directories, List<RegularFile> jars) throws IOException {
        Set<String> names = new HashSet<>();
        try (ZipOutputStream zip = new ZipOutputStream(Files.newOutputStream(out.toPath()))) {
            zip.setLevel(Deflater.NO_COMPRESSION);
            for (Directory directory : directories) {
                addAll(zip, names, directory.getAsFile().toPath());
            }
            for (RegularFile jar : jars) {
                try (FileSystem in = FileSystems.newFileSystem(jar.getAsFile().toPath(), (ClassLoader) null)) {
                    addAll(zip, names, in.getPath("/"));
                }
            }
        }
    }

    private static void addAll(ZipOutputStream zip, Set<String> names, Path root) throws IOException {
        try (Stream<Path> files = Files.walk(root).filter(Files::isRegularFile).sorted()) {
            for (Path file : (Iterable<Path>) files::iterator) {
                String name = root.relativize(file).toString().replace('\\', '/');
                if (names.add(name)) {
                    ZipEntry entry = new ZipEntry(name);
                    // The same classes give the same jar.
                    entry.setTime(315_532_800_000L);
                    zip.putNextEntry(entry);
                    Files.copy(file, zip);
                }
            }
        }
    }
}
