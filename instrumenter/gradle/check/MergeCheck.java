package dev.anrscope.gradle;

import java.io.File;
import java.io.FileOutputStream;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import org.gradle.api.GradleException;
import org.gradle.api.file.Directory;
import org.gradle.api.file.RegularFile;

/** {@code MergeCheck OUT.jar DIRECTORY JAR}: merges them, the jar twice, and checks the result, then odd jars and npm's script. */
final class MergeCheck {
    public static void main(String[] args) throws Exception {
        File out = new File(args[0]);
        RegularFile jar = at(RegularFile.class, new File(args[2]));
        byte[] first = null;
        for (int n = 0; n < 2; n++) {
            Merge.into(out, List.of(at(Directory.class, new File(args[1]))), List.of(jar, jar));
            byte[] bytes = Files.readAllBytes(out.toPath());
            check(first == null || Arrays.equals(first, bytes), "merged twice, the jars differ");
            first = bytes;
        }
        Set<String> names = new HashSet<>();
        try (ZipFile merged = new ZipFile(out); ZipFile from = new ZipFile(args[2])) {
            merged.stream().forEach(entry -> check(names.add(entry.getName()), entry + " once"));
            check(names.contains("dev/anrscope/gradle/Merge.class"), "the directory's classes");
            for (ZipEntry entry : Collections.list(from.entries())) {
                check(entry.isDirectory() || names.contains(entry.getName()), entry + " of the jar");
            }
        }
        oddJars(out);
        npmScript(new File(out.getPath() + ".npm"));
    }

    /** Names that lead out of a directory stay for the program to judge; a damaged jar is named. */
    private static void oddJars(File out) throws Exception {
        File odd = new File(out.getPath() + ".odd.jar");
        List<String> names = List.of("../A.class", "/B.class", "a", "a/C.class", "b\\..\\..\\D.class");
        try (ZipOutputStream zip = new ZipOutputStream(new FileOutputStream(odd))) {
            for (String name : names) {
                zip.putNextEntry(new ZipEntry(name));
            }
        }
        Merge.into(out, List.of(), List.of(at(RegularFile.class, odd)));
        try (ZipFile merged = new ZipFile(out)) {
            check(Collections.list(merged.entries()).toString().equals(names.toString()), "names changed: " + Collections.list(merged.entries()));
        }
        Files.write(odd.toPath(), Arrays.copyOf(Files.readAllBytes(odd.toPath()), 40));
        try {
            Merge.into(out, List.of(), List.of(at(RegularFile.class, odd)));
            check(false, "a damaged jar was read");
        } catch (GradleException named) {
            check(named.getMessage().contains(odd.getPath()), named.getMessage());
        }
    }

    /** The program that npm's script starts is found, so that another version is another input. */
    private static void npmScript(File directory) throws Exception {
        String npm = Program.npmPackage(System.getProperty("os.name"), System.getProperty("os.arch"));
        File script = file(directory, "lib/node_modules/anrscope/bin/anrscope.js");
        File program = file(directory, "lib/node_modules/anrscope/node_modules/" + npm + "/bin/anrscope");
        File bin = new File(directory, "bin");
        Files.createDirectories(bin.toPath());
        Files.createSymbolicLink(new File(bin, "anrscope").toPath(), script.toPath());
        check(program.equals(new Program.Search(List.of()).transform(bin.getPath())), "npm's script was taken for the program");
        check(program.delete(), "the program");
        check(new File(bin, "anrscope").equals(new Program.Search(List.of()).transform(bin.getPath())), "a script alone");
    }

    private static File file(File directory, String name) throws Exception {
        File file = new File(directory.getCanonicalFile(), name);
        Files.createDirectories(file.getParentFile().toPath());
        Files.write(file.toPath(), new byte[] {1});
        check(file.setExecutable(true), name);
        return file;
    }

    private static <T> T at(Class<T> type, File file) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, none) -> {
            check(method.getName().equals("getAsFile"), method.toString());
            return file;
        }));
    }

    private static void check(boolean holds, String what) {
        if (!holds) {
            throw new AssertionError(what);
        }
    }
}
