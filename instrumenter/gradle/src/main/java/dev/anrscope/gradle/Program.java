package dev.anrscope.gradle;

import java.io.File;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.gradle.api.Transformer;

/** Where the program {@code anrscope} may be, by system and CPU. */
final class Program {
    static final String MISSING = "Cannot find the program anrscope. Do one of these:\n"
            + "  - install it on PATH (pip install anrscope, or cargo install --locked --path cli in a clone)\n"
            + "  - set its path in gradle.properties: anrscope.program=/path/to/anrscope\n"
            + "  - set it in the build file: anrscope { program = file('/path/to/anrscope') }\n"
            + "  - install the npm package in the root directory: npm install anrscope\n"
            + "  - let Gradle download it from a repository that has dev.anrscope:anrscope-program:"
            + " anrscope { programVersion = 'VERSION' }";

    private Program() {}

    private static boolean windows(String system) {
        return system.toLowerCase(Locale.ROOT).startsWith("windows");
    }

    private static boolean mac(String system) {
        return system.toLowerCase(Locale.ROOT).startsWith("mac");
    }

    private static boolean arm(String cpu) {
        return cpu.equals("aarch64") || cpu.equals("arm64");
    }

    /** The classifier of the Maven artifact. */
    static String classifier(String system, String cpu) {
        String name = windows(system) ? "windows" : mac(system) ? "osx" : "linux";
        return name + (arm(cpu) ? "-aarch_64" : "-x86_64");
    }

    /** The npm package that has the program. */
    static String npmPackage(String system, String cpu) {
        String name = windows(system) ? "win32" : mac(system) ? "darwin" : "linux";
        return "@anrscope/" + name + (arm(cpu) ? "-arm64" : "-x64");
    }

    /** Maps the value of {@code PATH} to the program; null, which Gradle takes for no value, if it is nowhere. */
    static final class Search implements Transformer<File, String>, Serializable {
        private static final long serialVersionUID = 1;

        private final List<File> directories;

        /** Also searches {@code node_modules} of these directories. */
        Search(List<File> directories) {
            this.directories = new ArrayList<>(directories);
        }

        @Override
        public File transform(String path) {
            String system = System.getProperty("os.name");
            String name = windows(system) ? "anrscope.exe" : "anrscope";
            List<File> places = new ArrayList<>();
            for (String directory : path.split(File.pathSeparator)) {
                if (!directory.isEmpty()) {
                    places.add(new File(directory, name));
                }
            }
            String npm = "node_modules/" + npmPackage(system, System.getProperty("os.arch")) + "/bin/" + name;
            for (File directory : directories) {
                places.add(new File(directory, npm));
            }
            for (File place : places) {
                if (place.isFile() && place.canExecute()) {
                    return started(place.getAbsoluteFile(), npm);
                }
            }
            return null;
        }

        /**
         * Returns the program that npm's script on {@code PATH} starts, or else the file itself. The script is the same in every version
         * of the program, so that Gradle, which compares the file's bytes, would take results of an older program for current.
         */
        private static File started(File file, String npm) {
            try {
                File script = file.getCanonicalFile();
                for (File at = script; script.getName().endsWith(".js") && at != null; at = at.getParentFile()) {
                    File program = new File(at, npm);
                    if (program.isFile() && program.canExecute()) {
                        return program;
                    }
                }
            } catch (IOException unreadable) {
                // It is run as it is.
            }
            return file;
        }
    }
}
