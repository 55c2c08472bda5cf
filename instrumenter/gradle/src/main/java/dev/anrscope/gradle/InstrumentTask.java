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

    @Classpath public abstract ListProperty<Directory> getFolders();

    /** Classes that are not instrumented but inherited from: android.jar, and a library's dependencies. */
    @CompileClasspath public abstract ConfigurableFileCollection getPlatform();

    /** What the program remembers of the last build, so that only changed classes are done again. */
    @LocalState public abstract DirectoryProperty getCache();

    @OutputFile public abstract RegularFileProperty getOutput();

    @OutputFile public abstract RegularFileProperty getMethodMap();

    @OutputFile public abstract RegularFileProperty getIgnoredMap();

    /** The program writes it beside the method map. */
    @OutputFile public abstract RegularFileProperty getLines();

    /** Another program is another result. */
    @InputFile
    @Optional
    @PathSensitive(PathSensitivity.NONE)
    public File getProgram() {
        return program;
    }

    /** By the path that the build names, else by the search path. */
    void setProgram(String named) {
        program = named == null ? onSearchPath() : new File(named);
        if (program != null && !program.canExecute()) {
            throw new GradleException("anrscope.program names " + program + ", which is no program");
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
            throw new GradleException("There is no anrscope on PATH. Install it (cargo install --path cli), or name it in"
                    + " gradle.properties: anrscope.program=/path/to/anrscope");
        }
        File work = getTemporaryDir();
        // One jar in, one jar out: what a transform of classes must give.
        File merged = new File(work, "classes.jar");
        Merge.into(merged, getFolders().get(), getJars().get());
        List<String> command = new ArrayList<>(List.of(program.getPath(), "instrument", merged.getPath()));
        Map<String, Object> flags = new LinkedHashMap<>();
        flags.put("--out", getOutput().get());
        flags.put("--method-map", getMethodMap().get());
        flags.put("--ignored-map", getIgnoredMap().get());
        // Matrix's numbers depend on all classes, so that nothing could be kept.
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

    /** What is not set is not named; what is on or off is named if it is on. */
    private static void add(List<String> command, String flag, Object value) {
        if (value != null && !value.equals(false)) {
            command.add(flag);
        }
        if (value != null && !(value instanceof Boolean)) {
            command.add(value instanceof RegularFile ? ((RegularFile) value).getAsFile().getPath() : value.toString());
        }
    }

    private static File onSearchPath() {
        for (String folder : System.getenv().getOrDefault("PATH", "").split(File.pathSeparator)) {
            for (String name : List.of("anrscope", "anrscope.exe")) {
                File file = new File(folder, name);
                if (file.canExecute() && file.isFile()) {
                    return file;
                }
            }
        }
        return null;
    }
}
