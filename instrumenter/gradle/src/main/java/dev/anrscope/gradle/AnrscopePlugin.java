package dev.anrscope.gradle;

import java.io.File;
import java.util.List;
import org.gradle.api.Plugin;
import org.gradle.api.Project;
import org.gradle.api.artifacts.Configuration;
import org.gradle.api.file.ProjectLayout;
import org.gradle.api.file.RegularFile;
import org.gradle.api.provider.Provider;

/**
 * Passes the classes of each variant of an Android module to {@code anrscope instrument}, before R8 or D8 process them. In a JVM
 * module it adds the task {@code anrscopeJar}, which instruments the module's jar.
 *
 * <p>Nothing here is called while tasks run, and no module reads another one's state.
 */
public final class AnrscopePlugin implements Plugin<Project> {
    private static final String DOWNLOAD = "anrscopeProgram";

    @Override
    public void apply(Project project) {
        AnrscopeExtension options = project.getExtensions().create("anrscope", AnrscopeExtension.class);
        // The Gradle property is the default of the option.
        options.getProgram()
                .convention(project.getLayout()
                        .getProjectDirectory()
                        .file(project.getProviders().gradleProperty("anrscope.program")));
        Configuration download = bucket(project, DOWNLOAD);
        download.setCanBeResolved(true);
        download.defaultDependencies(needed -> {
            if (options.getProgramVersion().isPresent()) {
                String classifier = Program.classifier(System.getProperty("os.name"), System.getProperty("os.arch"));
                String version = options.getProgramVersion().get();
                needed.add(project.getDependencies()
                        .create("dev.anrscope:anrscope-program:" + version + ":" + classifier + "@exe"));
            }
        });
        // An app or dynamic feature is instrumented with its dependencies; a library alone, since the app that uses it brings them.
        project.getPluginManager()
                .withPlugin("com.android.application", app -> AndroidModule.APPLICATION.onVariants(project, options));
        project.getPluginManager()
                .withPlugin("com.android.dynamic-feature", feature -> AndroidModule.FEATURE.onVariants(project, options));
        project.getPluginManager()
                .withPlugin("com.android.library", library -> AndroidModule.LIBRARY.onVariants(project, options));
        // Kotlin's plug-in for the JVM applies this one.
        project.getPluginManager().withPlugin("java", java -> onJar(project, options));
    }

    /** A plain JVM module: its jar once more, instrumented. The jar itself stays as it is. */
    private void onJar(Project project, AnrscopeExtension options) {
        project.getTasks().register("anrscopeJar", InstrumentTask.class, it -> {
            it.setOptions(options);
            program(it, project, options);
            it.getLevel().set(options.getLevel().orElse(6));
            jar(it, project);
        });
    }

    /** The inputs and outputs of {@code anrscopeJar}. */
    static void jar(InstrumentTask it, Project project) {
        it.setGroup("build");
        it.setDescription("Assembles this module's jar with anrscope's calls in it.");
        files(it, project.getLayout(), "main");
        it.getArchive().from(project.getTasks().getByName("jar"));
        it.getPlatform().from(project.getConfigurations().getByName("runtimeClasspath"));
        it.getOutput().set(project.getLayout().getBuildDirectory().file("libs/" + project.getName() + "-traced.jar"));
        it.getPartOfApp().set(false);
    }

    /** Where the maps and the program's cache are; the maps are beside R8's. */
    static void files(InstrumentTask it, ProjectLayout layout, String name) {
        String maps = "outputs/mapping/" + name;
        it.getMethodMap().set(layout.getBuildDirectory().file(maps + "/methodMapping.txt"));
        it.getIgnoredMap().set(layout.getBuildDirectory().file(maps + "/ignoreMethodMapping.txt"));
        it.getLines().set(layout.getBuildDirectory().file(maps + "/methodMapping.txt.lines"));
        it.getCache().set(layout.getBuildDirectory().dir("intermediates/anrscope/" + name));
    }

    static void program(InstrumentTask it, Project project, AnrscopeExtension options) {
        if (!options.getProgram().isPresent() && options.getProgramVersion().isPresent()) {
            it.getDownloadedProgram().from(project.getConfigurations().getByName(DOWNLOAD));
            return;
        }
        List<File> directories = List.of(project.getLayout().getProjectDirectory().getAsFile(), project.getRootDir());
        Provider<RegularFile> found = project.getLayout()
                .file(project.getProviders().environmentVariable("PATH").map(new Program.Search(directories)));
        it.getProgram().set(options.getProgram().orElse(found));
    }

    /** The configuration to which a build file adds dependencies. */
    static Configuration bucket(Project project, String name) {
        Configuration bucket = project.getConfigurations().create(name);
        bucket.setCanBeResolved(false);
        bucket.setCanBeConsumed(false);
        return bucket;
    }
}
