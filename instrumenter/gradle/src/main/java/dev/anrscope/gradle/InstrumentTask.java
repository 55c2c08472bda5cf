package dev.anrscope.gradle;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
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
import org.gradle.api.tasks.*;

/** Runs {@code anrscope instrument} over one variant's classes. */
@CacheableTask
public abstract class InstrumentTask extends DefaultTask {
    private File program;
    private AnrscopeExtension options;

    @Classpath public abstract ListProperty<RegularFile> getJars();

    @Classpath public abstract ListProperty<Directory> getDirectories();

    /** Classes that are not instrumented but may be superclasses: android.jar, and a library's dependencies. */
    @CompileClasspath public abstract ConfigurableFileCollection getPlatform();

    /** The tool's cache of the last build, so that only changed classes are processed again. */
    @LocalState public abstract DirectoryProperty getCache();

    @OutputFile public abstract RegularFileProperty getOutput();

    @OutputFile public abstract RegularFileProperty getMethodMap();

    @OutputFile public abstract RegularFileProperty getIgnoredMap();

    /** The tool writes it beside the method map. */
    @OutputFile public abstract RegularFileProperty getLines();

    /** Another version of the tool may give another result. */
    @InputFile
    @Optional
    @PathSensitive(PathSensitivity.NONE)
    public File getProgram() {
        return program;
    }

    /** Uses the path that the build sets, or else the search path. */
    void setProgram(String named) {
        program = named == null ? onSearchPath() : new File(named);
        if (program != null && !program.canExecute()) {
            throw new GradleException("anrscope.program is not an executable file: " + program);
        }
    }

    @Nested
    public AnrscopeExtension getOptions() {
        return options;
    }

    void setOptions(AnrscopeExtension options) {
        this.options = options;
    }

    @TaskAction
    public void instrument() throws IOException, InterruptedException {
        if (program == null) {
            throw new GradleException("Cannot find anrscope on PATH. Install it (cargo install --path cli), or set its path in"
                    + " gradle.properties: anrscope.program=/path/to/anrscope");
        }
        File work = getTemporaryDir();
        // A transform of classes has one input jar and one output jar.
        File merged = new File(work, "classes.jar");
        Merge.into(merged, getDirectories().get(), getJars().get());
        List<String> command = new ArrayList<>(List.of(program.getPath(), "instrument", merged.getPath()));
        Map<String, Object> flags = new LinkedHashMap<>();
        flags.put("--out", getOutput().get());
        flags.put("--method-map", getMethodMap().get());
        flags.put("--ignored-map", getIgnoredMap().get());
        // Matrix's ids depend on all classes, so nothing could be cached.
        flags.put("--cache", options.getCompat().isPresent() ? null : getCache().get().getAsFile());
        flags.put("--base-map", options.getBaseMap().getOrNull());
        flags.put("--block-list", options.getBlockList().getOrNull());
        flags.put("--rules", options.getRules().getOrNull());
        flags.put("--mapping", options.getMapping().getOrNull());
        flags.put("--exits", options.getExits().getOrNull());
        flags.put("--waits", options.getWaits().getOrElse(false));
        flags.put("--waits-catalogue", options.getWaitsCatalogue().getOrNull());
        flags.put("--compat", options.getCompat().getOrNull());
        flags.put("--threads", options.getThreads().getOrNull());
        flags.put("--level", options.getLevel().getOrElse(0));
        flags.put("--fail-on-skip", options.getFailOnSkip().getOrElse(false));
        flags.forEach((flag, value) -> add(command, flag, value));
        getPlatform().forEach(file -> add(command, "--classpath", file));
        command.addAll(options.getArguments().get());
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new GradleException(said);
        }
        getLogger().lifecycle(said);
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

    private static File onSearchPath() {
        for (String directory : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)) {
            for (String name : List.of("anrscope", "anrscope.exe")) {
                File file = new File(directory, name);
                if (file.canExecute() && file.isFile()) {
                    return file;
                }
            }
        }
        return null;
    }
}
