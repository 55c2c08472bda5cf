package dev.anrscope.gradle;

import java.io.File;
import java.lang.reflect.Proxy;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import org.gradle.api.file.Directory;
import org.gradle.api.file.RegularFile;

/** {@code MergeCheck OUT.jar DIRECTORY JAR}: merges them, the jar twice, and checks the result. */
final class MergeCheck {
    public static void main(String[] args) throws Exception {
        File out = new File(args[0]);
        RegularFile jar = at(RegularFile.class, new File(args[2]));
        byte[] first = null;
        for (int n = 0; n < 2; n++) {
            Merge.into(out, List.of(at(Directory.class, new File(args[1]))), List.of(jar, jar));
            byte[] bytes = java.nio.file.Files.readAllBytes(out.toPath());
            check(first == null || Arrays.equals(first, bytes), "merged twice, the jars differ");
            first = bytes;
        }
        Set<String> names = new HashSet<>();
        try (ZipFile merged = new ZipFile(out); ZipFile from = new ZipFile(args[2])) {
            merged.stream().forEach(entry -> check(names.add(entry.getName()), entry + " once"));
            check(names.contains("dev/anrscope/gradle/Merge.class"), "the directory's classes");
            for (ZipEntry entry : java.util.Collections.list(from.entries())) {
                check(entry.isDirectory() || names.contains(entry.getName()), entry + " of the jar");
            }
        }
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
