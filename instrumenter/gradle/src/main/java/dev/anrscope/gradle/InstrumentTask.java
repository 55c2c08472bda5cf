package dev.anrscope.gradle;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.gradle.api.DefaultTask;
import org.gradle.api.GradleException;
import org.gradle.api.file.ConfigurableFileCollection;
import org.gradle.api.file.Directory;
import org.gradle.api.file.DirectoryProperty;
import org.gradle.api.file.RegularFile;
import org.gradle.api.file.RegularFileProperty;
import org.gradle.api.provider.ListProperty;
import org.gradle.api.provider.Property;
import org.gradle.api.tasks.*;

/** Runs {@code anrscope instrument} over one variant's classes, or over one jar. */
@CacheableTask
public abstract class InstrumentTask extends DefaultTask {
    private AnrscopeExtension options;

    @Classpath public abstract ListProperty<RegularFile> getJars();

    @Classpath public abstract ListProperty<Directory> getDirectories();

    /**
     * A jar that is copied as it is apart from its classes. It takes the place of the jars and directories. The times of its entries
     * do not count: before Gradle 9 the jar task writes the current ones.
     */
    @Classpath public abstract ConfigurableFileCollection getArchive();

    /** Classes that are not instrumented but may be superclasses: android.jar, and a library's dependencies. */
    @CompileClasspath public abstract ConfigurableFileCollection getPlatform();

    /** The method map after whose ids this one's begin: that of a dynamic feature of the same app. */
    @InputFiles @PathSensitive(PathSensitivity.NONE) public abstract ConfigurableFileCollection getPrecedingMap();

    /** Whether another module of the same app has the class that names the app's method map. */
    @Input public abstract Property<Boolean> getPartOfApp();

    /** Another version of the tool may give another result. */
    @Optional @InputFile @PathSensitive(PathSensitivity.NONE) public abstract RegularFileProperty getProgram();

    /** The program as a repository has it. */
    @InputFiles @PathSensitive(PathSensitivity.NONE) public abstract ConfigurableFileCollection getDownloadedProgram();

    @Input public abstract Property<Integer> getLevel();

    /** The tool's cache of the last build, so that only changed classes are processed again. */
    @LocalState public abstract DirectoryProperty getCache();

    @OutputFile public abstract RegularFileProperty getOutput();

    @OutputFile public abstract RegularFileProperty getMethodMap();

    @OutputFile public abstract RegularFileProperty getIgnoredMap();

    /** The tool writes it beside the method map. */
    @OutputFile public abstract RegularFileProperty getLines();

    @Nested
    public AnrscopeExtension getOptions() {
        return options;
    }

    void setOptions(AnrscopeExtension options) {
        this.options = options;
    }

    @TaskAction
    public void instrument() throws IOException, InterruptedException {
        File work = getTemporaryDir();
        List<String> command = new ArrayList<>(List.of(program(work).getPath(), "instrument"));
        File output = getOutput().get().getAsFile();
        File written = output;
        if (getArchive().isEmpty()) {
            // A transform of classes has one input jar and one output jar.
            File merged = new File(work, "classes.jar");
            Merge.into(merged, getDirectories().get(), getJars().get());
            if (getPartOfApp().get()) {
                // The class that names the map goes to the first output, which is thrown away.
                File empty = new File(work, "empty");
                Files.createDirectories(empty.toPath());
                command.add(empty.getPath());
                written = new File(work, "traced");
            }
            command.add(merged.getPath());
        } else {
            command.add(getArchive().getSingleFile().getPath());
        }
        Map<String, Object> flags = new LinkedHashMap<>();
        flags.put("--out", written);
        flags.put("--method-map", getMethodMap().get());
        flags.put("--ignored-map", getIgnoredMap().get());
        // Matrix's ids depend on all classes, so nothing could be cached.
        flags.put("--cache", options.getCompat().isPresent() ? null : getCache().get().getAsFile());
        flags.put("--base-map", baseMap());
        flags.put("--block-list", options.getBlockList().getOrNull());
        flags.put("--rules", options.getRules().getOrNull());
        flags.put("--mapping", options.getMapping().getOrNull());
        String exits = options.getExits().getOrNull();
        // A JVM's archive keeps the handlers, which cost nothing there.
        flags.put("--exits", "normal".equals(exits) && getArchive().isEmpty() ? "bare" : exits);
        // Matrix's ids leave no room for waits.
        flags.put("--waits", options.getWaits().getOrElse(!options.getCompat().isPresent()));
        flags.put("--waits-catalogue", options.getWaitsCatalogue().getOrNull());
        flags.put("--compat", options.getCompat().getOrNull());
        flags.put("--threads", options.getThreads().getOrNull());
        flags.put("--level", getLevel().get());
        flags.put("--fail-on-skip", options.getFailOnSkip().getOrElse(false));
        flags.forEach((flag, value) -> add(command, flag, value));
        getPlatform().forEach(file -> add(command, "--classpath", file));
        for (String argument : options.getArguments().get()) {
            String flag = argument.split("=", 2)[0];
            if (flags.containsKey(flag) || flag.equals("--classpath")) {
                throw new GradleException("Remove " + flag + " from the arguments of anrscope { }: the plug-in passes it itself, or has a"
                        + " property for it, so that Gradle sees when a file changes");
            }
            command.add(argument);
        }
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new GradleException(said);
        }
        getLogger().lifecycle(said);
        if (written != output) {
            Files.copy(new File(written, "classes.jar").toPath(), output.toPath(), StandardCopyOption.REPLACE_EXISTING);
        }
    }

    /** The program, in a form that can be run. */
    private File program(File work) throws IOException {
        if (!getDownloadedProgram().isEmpty()) {
            // A repository does not keep the permission to run it.
            File copy = new File(work, "anrscope.exe");
            Files.copy(getDownloadedProgram().getSingleFile().toPath(), copy.toPath(), StandardCopyOption.REPLACE_EXISTING);
            if (!copy.setExecutable(true)) {
                throw new GradleException("Cannot make " + copy + " executable");
            }
            return copy;
        }
        RegularFile named = getProgram().getOrNull();
        if (named == null) {
            throw new GradleException(Program.MISSING);
        }
        if (!named.getAsFile().canExecute()) {
            throw new GradleException("The program " + named.getAsFile() + " is not executable. Name another one with"
                    + " anrscope.program in gradle.properties, or run chmod +x on it");
        }
        return named.getAsFile();
    }

    private Object baseMap() {
        if (getPrecedingMap().isEmpty()) {
            return options.getBaseMap().getOrNull();
        }
        if (options.getBaseMap().isPresent()) {
            throw new GradleException("Both baseMap and the dependency anrscopeBaseMap are set. Set baseMap only in the first"
                    + " dynamic feature of the chain");
        }
        if (getPrecedingMap().getFiles().size() > 1) {
            throw new GradleException("anrscopeBaseMap has more than one dependency. Name one dynamic feature, which names the next");
        }
        return getPrecedingMap().getSingleFile();
    }

    /** Options that are not set are omitted; switches are passed if they are on. */
    private static void add(List<String> command, String flag, Object value) {
        if (value != null && !value.equals(false)) {
            command.add(flag);
        }
        if (value != null && !(value instanceof Boolean)) {
            command.add(value instanceof RegularFile ? ((RegularFile) value).getAsFile().getPath() : value.toString());
        }
    }
}
